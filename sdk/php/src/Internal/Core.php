<?php

declare(strict_types=1);

namespace CascadaPay\Internal;

use CascadaPay\CascadaException;
use CascadaPay\ConnectionException;
use CascadaPay\Download;
use CascadaPay\Reply;
use CascadaPay\Types;

/** The calls: credentials, time limits, and repeats that never do anything twice. */
abstract class Core
{
    private const VERSION = '0.1.0';
    private const LONGEST_DELAY = 8.0;
    /** A service that wants a longer pause than this is not waited for: the error says how long. In seconds. */
    private const LONGEST_RETRY_AFTER = 60.0;
    /** The most bytes of a reply that is read as JSON. */
    private const MAX_REPLY = 16 << 20;

    private readonly string $base;
    private readonly Session $session;
    private readonly \CurlHandle $curl;

    /**
     * @param string $url the service's address, such as https://pay.example.com, with or without /api/v1
     * @param string $secretKey a secret or restricted key. With a publishableKey beside it both are exchanged for tokens, and the key
     *     itself is not sent with each call
     * @param string $publishableKey alone it reaches only ping and listPaymentMethods
     * @param ?string $shopId selects a shop, if the credentials are the whole merchant's
     * @param float $timeout the most seconds of one try: the service gives each provider 20 s, and a cascade may call several
     * @param int $retries how many times a call may be repeated
     * @param float $retryDelay the seconds before the first repeat. They double, and are spread at random
     * @param bool $strict unknown fields of requests are refused. For tests
     */
    public function __construct(
        string $url,
        #[\SensitiveParameter] string $secretKey = '',
        string $publishableKey = '',
        private readonly ?string $shopId = null,
        private readonly float $timeout = 90.0,
        private readonly int $retries = 3,
        private readonly float $retryDelay = 0.5,
        private readonly bool $strict = false,
    ) {
        if (preg_match('#^https?://[^/]#', $url) !== 1) {
            throw new \InvalidArgumentException('cascadapay: url must be an http or https address');
        }
        if ($secretKey === '' && $publishableKey === '') {
            throw new \InvalidArgumentException('cascadapay: a secretKey or a publishableKey is needed');
        }
        if (preg_match('/^[!-~]*$/D', $secretKey . $publishableKey) !== 1) {
            throw new \InvalidArgumentException('cascadapay: a key has a space, a line break or another character that no key has');
        }
        $this->base = preg_replace('#/api/v1$#', '', rtrim($url, '/')) . '/api/v1';
        $this->curl = curl_init();
        $this->session = new Session($publishableKey, $secretKey, function (string $path, #[\SensitiveParameter] array $body): array {
            $headers = ['Content-Type' => 'application/json'] + $this->always('application/json');
            return $this->repeat(new Prepared(
                'POST', $this->base . $path, $headers, Json::stringify($body), $this->timeout, $this->retries, open: true, safe: $path === '/auth/token',
            ), null);
        });
    }

    /** Ends the login of the client's tokens. The next call begins a new one. Without a login it does nothing. */
    public function logout(): void
    {
        $this->session->end();
    }

    /**
     * @param list<string> $ids
     * @param array<string, mixed>|null $body
     * @param array<string, mixed> $query
     * @param array<string, mixed> $options
     * @return array<string, mixed>
     */
    protected function json(Operation $of, array $ids, ?array $body, array $query, array $options): array
    {
        return $this->repeat($this->prepare($of, $ids, $body, $query, $options), $options['onReply']);
    }

    /**
     * @param list<string> $ids
     * @param array<string, mixed>|null $body
     * @param array<string, mixed> $query
     * @param array<string, mixed> $options
     */
    protected function file(Operation $of, array $ids, ?array $body, array $query, array $options): Download
    {
        return $this->repeat($this->prepare($of, $ids, $body, $query, $options), $options['onReply']);
    }

    /**
     * Iterates over the rows from a page on. New rows do not shift the pages.
     *
     * @param array<string, mixed> $query
     * @param \Closure(array<string, mixed>): array<string, mixed> $page
     */
    protected function each(array $query, \Closure $page): \Generator
    {
        while (true) {
            $got = $page($query);
            foreach ($got['data'] as $row) {
                yield $row; // with keys that go on over the pages, so that iterator_to_array loses none
            }
            $after = $got['pagination']['nextCursor'] ?? null;
            if ($after === null || $after === '' || $after === ($query['startingAfter'] ?? null)) {
                return;
            }
            unset($query['offset']);
            $query['startingAfter'] = $after;
        }
    }

    /** @return array<string, string> */
    private function always(string $accept): array
    {
        return ['Accept' => $accept, 'Service-Version' => Types::API_VERSION, 'User-Agent' => 'cascada-php/' . self::VERSION];
    }

    /**
     * @param list<string> $ids
     * @param array<string, mixed>|null $body
     * @param array<string, mixed> $query
     * @param array<string, mixed> $options
     */
    private function prepare(Operation $of, array $ids, ?array $body, array $query, array $options): Prepared
    {
        $path = preg_replace_callback('/\{\w+\}/', static function () use (&$ids): string {
            return self::segment((string) array_shift($ids));
        }, $of->path);
        $pairs = $of->fixed;
        foreach ($query as $name => $value) {
            if ($value !== null) {
                $pairs[$name] = $name === 'amount' ? Json::amount($value) : self::word($value);
            }
        }
        $shop = $options['shopId'] ?? $this->shopId;
        if ($shop !== null && !$of->open) {
            $pairs['shopId'] = $shop;
        }
        if ($this->strict) {
            $pairs['strict'] = 'true';
        }
        $headers = $this->always($of->reply === null ? '*/*' : 'application/json');
        if ($of->key) {
            $headers['Idempotency-Key'] = $options['idempotencyKey'] ?? bin2hex(random_bytes(16));
        }
        if (($options['sandboxSimulate'] ?? null) !== null) {
            $headers['Sandbox-Simulate'] = $options['sandboxSimulate'];
        }
        if (($options['sandboxStrict'] ?? null) !== null) {
            $headers['Sandbox-Strict'] = self::word($options['sandboxStrict']);
        }
        $text = null;
        if ($body !== null) {
            $headers['Content-Type'] = 'application/json';
            $text = $body === [] ? '{}' : Json::stringify($body, $of->body);
        }
        foreach ($headers as $name => $value) {
            if (preg_match('/^[ -~]{1,255}$/D', $value) !== 1) { // a line break would begin another header
                throw new \InvalidArgumentException("cascadapay: $name is 1 to 255 printable characters");
            }
        }
        return new Prepared(
            $of->method, $this->base . $path . ($pairs === [] ? '' : '?' . http_build_query($pairs, '', '&', PHP_QUERY_RFC3986)), $headers, $text,
            $options['timeout'] ?? $this->timeout, $options['retries'] ?? $this->retries,
            open: $of->open, safe: $of->method === 'GET' || $of->key, file: $of->reply === null, shape: $of->reply, page: $of->page, to: $options['to'] ?? null,
        );
    }

    /** Sends a request until it is answered, and no longer than its retries allow. */
    private function repeat(Prepared $p, ?callable $onReply): mixed
    {
        for ($tries = 1, $failures = 0, $renewed = false; ; $tries++) {
            $bearer = $p->open ? '' : $this->session->bearer();
            try {
                [$status, $headers, $value] = $this->once($p, $bearer);
                if ($onReply !== null) {
                    $onReply(new Reply($status, $headers['x-request-id'] ?? '', ($headers['idempotency-replayed'] ?? '') === 'true', $tries, $headers));
                }
                return $value;
            } catch (CascadaException | ConnectionException $failure) {
                if (!$renewed && $bearer !== '' && self::stale($failure) && $this->session->forget($bearer)) {
                    $renewed = true; // the service has done nothing
                    continue;
                }
                $pause = $this->pause($failure, $p, $failures++);
                if ($pause === null) {
                    throw $failure;
                }
                usleep((int) ($pause * 1e6));
            }
        }
    }

    /** The pause before a repeat in seconds; null if there must be none. */
    private function pause(CascadaException|ConnectionException $failure, Prepared $p, int $failures): ?float
    {
        if ($failures >= $p->retries || $p->begun) {
            return null;
        }
        $least = 0.0;
        if ($failure instanceof CascadaException) {
            if (!($p->safe ? self::repeatable($failure) : self::nothingDone($failure))) {
                return null;
            }
            $least = $failure->retryAfter;
        } elseif (!$p->safe) {
            return null;
        }
        if ($least > self::LONGEST_RETRY_AFTER) {
            return null;
        }
        $delay = min(self::LONGEST_DELAY, $this->retryDelay * 2 ** $failures);
        return max($least, $delay * (0.5 + random_int(0, 1000) / 2000));
    }

    /**
     * Sends a request once.
     *
     * @return array{int, array<string, string>, mixed}
     */
    private function once(Prepared $p, #[\SensitiveParameter] string $bearer): array
    {
        $key = $p->headers['Idempotency-Key'] ?? '';
        $headers = $bearer === '' ? $p->headers : $p->headers + ['Authorization' => 'Bearer ' . $bearer];
        [$status, $from, $text] = $this->send($p, $headers, $key);
        if ($status < 200 || $status > 299) {
            throw self::refusal($status, $from, $text, $key);
        }
        if ($p->file) {
            return [$status, $from, new Download($from['content-type'] ?? '', $text)];
        }
        try {
            $value = Json::parse($text, $p->shape, $p->page);
        } catch (\JsonException $e) {
            throw new ConnectionException("$p->method: the reply cannot be read: " . $e->getMessage(), $key, $e);
        }
        return is_array($value) ? [$status, $from, $value] : throw new ConnectionException("$p->method: the reply is not an object", $key);
    }

    /**
     * @param array<string, string> $headers
     * @return array{int, array<string, string>, string}
     */
    private function send(Prepared $p, #[\SensitiveParameter] array $headers, string $key): array
    {
        [$from, $text] = [[], ''];
        curl_reset($this->curl);
        curl_setopt_array($this->curl, [
            CURLOPT_URL => $p->address,
            CURLOPT_CUSTOMREQUEST => $p->method,
            // An empty Expect stops curl from waiting for a permission to send the body.
            CURLOPT_HTTPHEADER => [...array_map(static fn (string $name, string $value): string => "$name: $value", array_keys($headers), $headers), 'Expect:'],
            // The API never redirects: a redirect does not come from it, and must not get the key.
            CURLOPT_FOLLOWLOCATION => false,
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_TIMEOUT_MS => max(1, (int) ($p->timeout * 1000)),
            CURLOPT_NOSIGNAL => true,
            // On a connection that was used before, curl repeats a request by itself if the connection ends without an answer.
            CURLOPT_FRESH_CONNECT => !$p->safe,
            CURLOPT_HEADERFUNCTION => static function ($curl, string $line) use (&$from): int {
                if (str_starts_with($line, 'HTTP/')) {
                    $from = [];
                } elseif (str_contains($line, ':')) {
                    [$name, $value] = explode(':', $line, 2);
                    $from[strtolower(trim($name))] = trim($value);
                }
                return strlen($line);
            },
            CURLOPT_WRITEFUNCTION => static function ($curl, string $part) use ($p, &$text): int {
                $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
                if ($p->to !== null && $status >= 200 && $status <= 299) {
                    $p->begun = true;
                    return (int) fwrite($p->to, $part);
                }
                $text .= $part;
                return $p->file || strlen($text) <= self::MAX_REPLY ? strlen($part) : 0;
            },
        ]);
        if ($p->body !== null) {
            curl_setopt($this->curl, CURLOPT_POSTFIELDS, $p->body);
        } elseif ($p->method === 'POST') {
            curl_setopt($this->curl, CURLOPT_POSTFIELDS, '');
        }
        if (curl_exec($this->curl) === false) {
            throw new ConnectionException("$p->method: " . curl_error($this->curl), $key);
        }
        return [curl_getinfo($this->curl, CURLINFO_RESPONSE_CODE), $from, $text];
    }

    private static function word(mixed $value): string
    {
        return is_bool($value) ? ($value ? 'true' : 'false') : (string) $value;
    }

    /** Writes an id into a path. "." and ".." would lead to another operation. */
    private static function segment(string $id): string
    {
        if ($id === '' || $id === '.' || $id === '..') {
            throw new \InvalidArgumentException("cascadapay: an id is needed, not \"$id\"");
        }
        return rawurlencode($id);
    }

    /** The service refused the token rather than the call. */
    private static function stale(\Throwable $failure): bool
    {
        return $failure instanceof CascadaException && in_array($failure->errorCode, ['token_expired', 'invalid_token'], true);
    }

    /** A repeat with the same key may be answered otherwise. */
    private static function repeatable(CascadaException $e): bool
    {
        if ($e->replayed) {
            return false;
        }
        return $e->status === 429 || $e->status >= 500 || ($e->errorCode === 'idempotency_conflict' && ($e->details['reason'] ?? '') === 'request_in_progress');
    }

    /** The service says that it has done nothing. */
    private static function nothingDone(CascadaException $e): bool
    {
        return $e->status === 429 || ($e->errorCode === 'service_unavailable' && !isset($e->details['reason']));
    }

    /**
     * Reads a reply that is not 2xx.
     *
     * @param array<string, string> $from
     */
    private static function refusal(int $status, array $from, string $text, string $key): CascadaException
    {
        $wait = self::retryAfter($from);
        $replayed = ($from['idempotency-replayed'] ?? '') === 'true';
        $request = $from['x-request-id'] ?? '';
        try {
            $e = Json::parse($text, 'Envelope');
            $e = is_array($e) ? $e['error'] ?? null : null;
        } catch (\JsonException) {
            $e = null; // not the service's
        }
        if (!is_array($e) || !is_string($e['code'] ?? null) || $e['code'] === '') {
            $message = $status >= 300 && $status <= 399 ? 'a redirect, which is not followed: it does not come from the service' : trim(substr($text, 0, 200));
            return new CascadaException("$status: $message", $status, requestId: $request, retryAfter: $wait, replayed: $replayed, idempotencyKey: $key);
        }
        $word = static fn (string $name): string => is_string($e[$name] ?? null) ? $e[$name] : '';
        return new CascadaException(
            $word('message'), $status, $e['code'], $word('type'), $word('param'), $word('decline_code'), $word('requestId') ?: $request,
            is_array($e['details'] ?? null) ? $e['details'] : [], $wait, $replayed, $key,
        );
    }

    /**
     * The pause that a reply asks for, in seconds. A date counts from the reply's own: this machine's clock may be wrong.
     *
     * @param array<string, string> $from
     */
    private static function retryAfter(array $from): float
    {
        $text = $from['retry-after'] ?? '';
        if (preg_match('/^[0-9]{1,9}$/D', $text) === 1) {
            return (float) $text;
        }
        $until = \DateTimeImmutable::createFromFormat(DATE_RFC7231, $text, new \DateTimeZone('UTC'));
        $now = \DateTimeImmutable::createFromFormat(DATE_RFC7231, $from['date'] ?? '', new \DateTimeZone('UTC'));
        return $until === false ? 0.0 : (float) max(0, $until->getTimestamp() - ($now === false ? time() : $now->getTimestamp()));
    }
}
