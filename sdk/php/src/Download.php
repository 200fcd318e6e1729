<?php

declare(strict_types=1);

namespace CascadaPay;

/** A file. If it was written to a stream, its content is empty here. */
final class Download
{
    public function __construct(public readonly string $contentType, public readonly string $content)
    {
    }
}
