<?php

declare(strict_types=1);

namespace CascadaPay\Internal;

/** A request that may be sent several times. */
final class Prepared
{
    /** Something was written to the stream: a repeat would write it twice. */
    public bool $begun = false;

    /**
     * @param array<string, string> $headers
     * @param bool $open without credentials
     * @param bool $safe a repeat is never done twice
     * @param resource|null $to where a file is written
     */
    public function __construct(
        public readonly string $method,
        public readonly string $address,
        public readonly array $headers,
        public readonly ?string $body,
        public readonly float $timeout,
        public readonly int $retries,
        public readonly bool $open,
        public readonly bool $safe,
        public readonly bool $file = false,
        public readonly ?string $shape = null,
        public readonly bool $page = false,
        public readonly mixed $to = null,
    ) {
    }
}
