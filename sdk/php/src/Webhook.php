<?php

declare(strict_types=1);

namespace CascadaPay;

use CascadaPay\Internal\Json;

/**
 * Verifies deliveries of webhooks, and reads their events.
 *
 * @phpstan-import-type Event from Types
 */
final class Webhook
{
    /** How far a signature's time may be from now, in seconds. */
    public const TOLERANCE = 300;

    /** The most characters of the header: some fourteen signatures. */
    private const MAX_HEADER = 1024;

    /**
     * Verifies a delivery and reads its event.
     *
     * @param string $body the request's body as it was received: file_get_contents('php://input')
     * @param string $signature the value of X-Service-Signature: $_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? ''
     * @param string|list<string> $secret the webhook's whole secret, whsec_ included; of several, one match is enough
     * @param ?int $now the time in seconds since 1970, for tests
     * @return Event
     * @throws WebhookException
     */
    public static function read(string $body, string $signature, #[\SensitiveParameter] string|array $secret, int $tolerance = self::TOLERANCE, ?int $now = null): array
    {
        self::verify($body, $signature, (array) $secret, $tolerance, $now ?? time());
        try {
            $event = Json::parse($body, 'Event');
        } catch (\JsonException) {
            $event = null;
        }
        if (is_array($event) && is_string($event['id'] ?? null) && is_string($event['type'] ?? null) && is_array($event['data']['object'] ?? null)) {
            return $event;
        }
        throw new WebhookException('unreadable', 'the delivery is not a readable event');
    }

    /** @param array<string> $secrets */
    private static function verify(string $body, string $header, #[\SensitiveParameter] array $secrets, int $tolerance, int $now): void
    {
        [$stamps, $signatures] = [[], []];
        foreach (strlen($header) <= self::MAX_HEADER ? explode(',', $header) : [] as $pair) {
            // Schemes of later versions are skipped; of two times it would be unclear which one was signed.
            [$scheme, $value] = explode('=', trim($pair), 2) + [1 => ''];
            if ($scheme === 't') {
                $stamps[] = $value;
            } elseif ($scheme === 'v1' || $scheme === 'v0') {
                $signatures[] = strtolower($value);
            }
        }
        if (count($stamps) !== 1 || preg_match('/^[0-9]{1,12}$/D', $stamps[0]) !== 1) {
            throw new WebhookException('signature', 'X-Service-Signature is missing or has no time');
        }
        $known = array_filter($secrets, static fn (string $secret): bool => $secret !== ''); // anybody can sign with an empty one
        if ($known === []) {
            throw new WebhookException('signature', 'there is no secret to verify with');
        }
        $genuine = false;
        foreach ($known as $secret) {
            $want = hash_hmac('sha256', $stamps[0] . '.' . $body, $secret);
            foreach ($signatures as $signature) {
                $genuine = hash_equals($want, $signature) || $genuine;
            }
        }
        if (!$genuine) {
            throw new WebhookException('signature', "the delivery is not signed with the webhook's secret");
        }
        // The time is checked last: 'stale' is said of genuine signatures only.
        $age = $now - (int) $stamps[0];
        if (abs($age) > $tolerance) {
            throw new WebhookException('stale', "the delivery's signature is $age seconds old");
        }
    }
}
