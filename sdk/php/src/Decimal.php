<?php

declare(strict_types=1);

namespace CascadaPay;

/**
 * An exact decimal number. A float is not: 0.1 + 0.2 is not 0.3 there. It needs no extension. Results of arithmetic have no zeros at
 * the end: compare with equals.
 */
final class Decimal implements \Stringable, \JsonSerializable
{
    private function __construct(private readonly string $digits)
    {
    }

    /**
     * A decimal of its digits, such as "25.50", or of an integer.
     *
     * @throws \InvalidArgumentException
     */
    public static function of(self|string|int $value): self
    {
        if ($value instanceof self) {
            return $value;
        }
        $digits = (string) $value;
        if (preg_match('/^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/D', $digits) !== 1) {
            throw new \InvalidArgumentException(sprintf('an amount is the digits of a decimal number, such as "25.50", not "%s"', $digits));
        }
        return new self($digits);
    }

    /** The sum of any number of decimals, 0 of none. */
    public static function sum(self ...$terms): self
    {
        return array_reduce($terms, static fn (self $total, self $term): self => $total->plus($term), new self('0'));
    }

    public function plus(self|string|int $other): self
    {
        [$a, $b, $places] = $this->aligned(self::of($other));
        if ($a[0] === $b[0]) {
            return self::placed($a[0], self::added($a[1], $b[1]), $places);
        }
        return strcmp($a[1], $b[1]) >= 0
            ? self::placed($a[0], self::subtracted($a[1], $b[1]), $places)
            : self::placed($b[0], self::subtracted($b[1], $a[1]), $places);
    }

    public function minus(self|string|int $other): self
    {
        return $this->plus(self::of($other)->negated());
    }

    public function negated(): self
    {
        return new self($this->digits[0] === '-' ? substr($this->digits, 1) : '-' . $this->digits);
    }

    /** -1, 0 or 1: this is less than the other, equal, or more. */
    public function compareTo(self|string|int $other): int
    {
        $difference = (string) $this->minus($other);
        return $difference === '0' ? 0 : ($difference[0] === '-' ? -1 : 1);
    }

    public function equals(self|string|int $other): bool
    {
        return $this->compareTo($other) === 0;
    }

    /** The digits as they were read. */
    public function __toString(): string
    {
        return $this->digits;
    }

    /** Digits as a text: json_encode would make a float of them. */
    public function jsonSerialize(): string
    {
        return $this->digits;
    }

    /**
     * Both numbers as a sign and as many digits, and how many of these are behind the point.
     *
     * @return array{array{string, string}, array{string, string}, int}
     */
    private function aligned(self $other): array
    {
        $parts = static function (string $digits): array {
            $sign = $digits[0] === '-' ? '-' : '';
            [$whole, $fraction] = explode('.', ltrim($digits, '-')) + [1 => ''];
            return [$sign, $whole, $fraction];
        };
        [$a, $b] = [$parts($this->digits), $parts($other->digits)];
        $places = max(strlen($a[2]), strlen($b[2]));
        $width = max(strlen($a[1]), strlen($b[1]));
        $made = static fn (array $n): array => [$n[0], str_pad($n[1], $width, '0', STR_PAD_LEFT) . str_pad($n[2], $places, '0')];
        return [$made($a), $made($b), $places];
    }

    private static function added(string $a, string $b): string
    {
        $sum = '';
        for ($i = strlen($a) - 1, $carry = 0; $i >= 0; $i--) {
            $digit = (int) $a[$i] + (int) $b[$i] + $carry;
            $carry = intdiv($digit, 10);
            $sum = $digit % 10 . $sum;
        }
        return $carry . $sum;
    }

    /** a - b, where b is not more. */
    private static function subtracted(string $a, string $b): string
    {
        $rest = '';
        for ($i = strlen($a) - 1, $borrow = 0; $i >= 0; $i--) {
            $digit = (int) $a[$i] - (int) $b[$i] - $borrow;
            $borrow = $digit < 0 ? 1 : 0;
            $rest = ($digit + 10) % 10 . $rest;
        }
        return $rest;
    }

    private static function placed(string $sign, string $digits, int $places): self
    {
        $whole = ltrim(substr($digits, 0, strlen($digits) - $places), '0');
        $fraction = $places > 0 ? rtrim(substr($digits, -$places), '0') : '';
        $text = ($whole === '' ? '0' : $whole) . ($fraction === '' ? '' : '.' . $fraction);
        return new self($text === '0' ? '0' : $sign . $text);
    }
}
