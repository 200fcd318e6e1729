<?php

declare(strict_types=1);

namespace CascadaPay;

/**
 * No whole reply came: the network failed, the time was over, or the reply could not be read. It is not known whether the service
 * did what was requested.
 */
final class ConnectionException extends \RuntimeException
{
    /** @param string $idempotencyKey the key that was sent, '' for none: a repeat with it is never done twice */
    public function __construct(string $message, public readonly string $idempotencyKey, ?\Throwable $previous = null)
    {
        parent::__construct($message, 0, $previous);
    }
}
