<?php

declare(strict_types=1);

namespace CascadaPay;

/** What a reply says beside its body. */
final class Reply
{
    /**
     * @param bool $replayed it is the stored reply to an earlier request with the same key
     * @param int $tries how many requests were sent
     * @param array<string, string> $headers by their names in lower case
     */
    public function __construct(
        public readonly int $status,
        public readonly string $requestId,
        public readonly bool $replayed,
        public readonly int $tries,
        public readonly array $headers,
    ) {
    }
}
