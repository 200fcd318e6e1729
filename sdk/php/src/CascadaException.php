<?php

declare(strict_types=1);

namespace CascadaPay;

/** The service refused the call. Switch on errorCode, never on the message. */
final class CascadaException extends \RuntimeException
{
    /**
     * @param string $errorCode the stable name of the error; '' if the reply is not the service's but, for example, a proxy's
     * @param string $param the offending field, '' if it is not one
     * @param string $declineCode why the card's issuer declined, '' if it did not
     * @param array<string, mixed> $details data for programs. A declined payment exists all the same: transactionId names it
     * @param float $retryAfter how long to wait, in seconds; 0 if the reply does not say
     * @param bool $replayed the reply is the stored one to an earlier request with the same key
     * @param string $idempotencyKey the key that was sent, '' for none: a repeat with it is never done twice
     */
    public function __construct(
        string $message,
        public readonly int $status,
        public readonly string $errorCode = '',
        public readonly string $type = '',
        public readonly string $param = '',
        public readonly string $declineCode = '',
        public readonly string $requestId = '',
        public readonly array $details = [],
        public readonly float $retryAfter = 0.0,
        public readonly bool $replayed = false,
        public readonly string $idempotencyKey = '',
    ) {
        parent::__construct($message);
    }

    /**
     * What is wrong with each field of the request.
     *
     * @return list<array{path: string, message: string}>
     */
    public function issues(): array
    {
        return $this->details['issues'] ?? [];
    }

    /** The page that explains the code, '' if there is none. */
    public function helpUrl(): string
    {
        return $this->details['helpUrl'] ?? '';
    }
}
