<?php

declare(strict_types=1);

namespace CascadaPay;

/**
 * Why a delivery is refused. reason is 'signature': no secret signed this body; 'stale': the signature is genuine, but was made too
 * far from now, so an old delivery was sent again or a clock is wrong; or 'unreadable': the service sent this, but it cannot be read
 * as an event.
 */
final class WebhookException extends \RuntimeException
{
    public function __construct(public readonly string $reason, string $message)
    {
        parent::__construct($message);
    }
}
