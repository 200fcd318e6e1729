<?php

declare(strict_types=1);

namespace CascadaPay\Internal;

/** What the document says of an operation. */
final class Operation
{
    /** @param array<string, string> $fixed parameters that are always sent */
    public function __construct(
        public readonly string $method,
        public readonly string $path,
        public readonly ?string $body = null,
        public readonly ?string $reply = null,
        public readonly bool $page = false,
        public readonly bool $key = false,
        public readonly bool $open = false,
        public readonly array $fixed = [],
    ) {
    }
}
