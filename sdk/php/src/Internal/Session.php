<?php

declare(strict_types=1);

namespace CascadaPay\Internal;

use CascadaPay\CascadaException;

/** The credential of calls: a raw key, or an access token that is renewed. */
final class Session
{
    /** How long before its end a token is renewed, in seconds; a tenth of its life if that is less. */
    private const RENEW_BEFORE = 30.0;

    private readonly string $raw;
    private string $access = '';
    private string $refresh = '';
    private float $renewAt = 0.0; // of the clock since the machine's start: one that is set does not matter

    /** @param \Closure(string, array<string, string>): array<string, mixed> $request */
    public function __construct(private readonly string $publishable, #[\SensitiveParameter] private readonly string $secret, private readonly \Closure $request)
    {
        $this->raw = $publishable === '' ? $secret : ($secret === '' ? $publishable : '');
    }

    public function bearer(): string
    {
        if ($this->raw !== '') {
            return $this->raw;
        }
        if ($this->access === '' || self::now() >= $this->renewAt) {
            $this->renew();
        }
        return $this->access;
    }

    private function renew(): void
    {
        $refresh = $this->refresh;
        // A refresh token works once: after a call with an unknown outcome it must not be sent again, that looks like theft.
        $this->access = $this->refresh = '';
        if ($refresh !== '') {
            try {
                $this->ask('/auth/refresh', ['refreshToken' => $refresh]);
                return;
            } catch (CascadaException $e) {
                if ($e->status !== 401) {
                    throw $e;
                }
            }
        }
        $this->ask('/auth/token', ['apiKey' => $this->publishable, 'secretKey' => $this->secret]);
    }

    /** @param array<string, string> $body */
    private function ask(string $path, #[\SensitiveParameter] array $body): void
    {
        $asked = self::now();
        $tokens = ($this->request)($path, $body);
        $life = (float) $tokens['expiresIn'];
        $this->access = (string) $tokens['accessToken'];
        $this->refresh = (string) $tokens['refreshToken'];
        $this->renewAt = $asked + $life - min(self::RENEW_BEFORE, $life / 10);
    }

    /** Makes the next call renew a token that was refused. False if a new one would not help. */
    public function forget(#[\SensitiveParameter] string $access): bool
    {
        if ($this->raw !== '') {
            return false;
        }
        if ($this->access === $access) {
            $this->renewAt = 0.0;
        }
        return true;
    }

    public function end(): void
    {
        if ($this->refresh === '') {
            return;
        }
        try {
            ($this->request)('/auth/logout', ['refreshToken' => $this->refresh]);
        } catch (CascadaException $e) {
            if ($e->errorCode !== 'invalid_token') { // it has already ended
                throw $e;
            }
        }
        $this->access = $this->refresh = '';
    }

    private static function now(): float
    {
        return hrtime(true) / 1e9;
    }
}
