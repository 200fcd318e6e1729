<?php

declare(strict_types=1);

namespace CascadaPay;

/** The API of a Cascada service. */
final class Cascada extends Operations
{
}
