<?php

declare(strict_types=1);

namespace CascadaPay\Internal;

use CascadaPay\Decimal;

/** JSON without loss: json_decode reads 25.50 as a float. An amount is a Decimal, whether it is written as 25 or as 25.50. */
final class Json
{
    /** How deep values may be nested. The API's are not deeper than ten. */
    private const MAX_DEPTH = 100;

    /** A text, which is skipped, or a number. */
    private const TOKEN = '/"[^"\\\\]*+(?:\\\\.[^"\\\\]*+)*+"(*SKIP)(*FAIL)|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/s';

    /**
     * Reads a JSON text of a shape.
     *
     * @throws \JsonException
     */
    public static function parse(string $text, ?string $shape = null, bool $page = false): mixed
    {
        // Nobody can guess the mark, and write a text that is read as a number.
        $mark = bin2hex(random_bytes(16));
        $marked = preg_replace(self::TOKEN, '"' . $mark . '$0"', $text);
        $value = json_decode($marked ?? '', true, self::MAX_DEPTH, JSON_THROW_ON_ERROR);
        if ($page && is_array($value)) {
            foreach ($value as $name => $field) {
                $value[$name] = self::shaped($field, $name === 'data' ? $shape : null, $mark);
            }
            return $value;
        }
        return self::shaped($value, $shape, $mark);
    }

    private static function shaped(mixed $value, ?string $shape, string $mark): mixed
    {
        if (is_string($value) && str_starts_with($value, $mark)) {
            return self::number(substr($value, strlen($mark)), $shape);
        }
        if (!is_array($value)) {
            return $value;
        }
        $list = array_is_list($value);
        $fields = Shapes::FIELDS[$shape ?? ''] ?? [];
        $type = $shape === 'Event' && is_string($value['type'] ?? null) ? $value['type'] : '';
        foreach ($value as $name => $field) {
            $value[$name] = match (true) {
                $list => self::shaped($field, $shape, $mark),
                $shape === 'Event' && $name === 'data' && is_array($field) => self::data($field, Shapes::EVENTS[$type] ?? null, $mark),
                default => self::shaped($field, $fields[$name] ?? null, $mark),
            };
        }
        return $value;
    }

    /**
     * The data of an event has an object, and its type says of which shape.
     *
     * @param array<mixed> $data
     * @return array<mixed>
     */
    private static function data(array $data, ?string $shape, string $mark): array
    {
        foreach ($data as $name => $field) {
            $data[$name] = self::shaped($field, $name === 'object' ? $shape : null, $mark);
        }
        return $data;
    }

    /** A number whose field is not known to be an amount is an int, or its digits where that would lose some. */
    private static function number(string $digits, ?string $shape): Decimal|int|string
    {
        if ($shape !== 'n') {
            $number = filter_var($digits, FILTER_VALIDATE_INT);
            return $number === false ? $digits : $number;
        }
        try {
            return Decimal::of($digits);
        } catch (\InvalidArgumentException $e) {
            throw new \JsonException($e->getMessage(), 0, $e);
        }
    }

    /**
     * Writes a body of a shape. An amount becomes a JSON number with its digits as they are.
     *
     * @throws \InvalidArgumentException
     */
    public static function stringify(mixed $value, ?string $shape = null): string
    {
        if ($shape === 'n' && $value !== null) {
            return self::amount($value);
        }
        if ($value instanceof Decimal) {
            return (string) $value;
        }
        if (is_array($value) && array_is_list($value) && !($value === [] && ($shape === 'o' || $shape === 'body'))) {
            return '[' . implode(',', array_map(static fn (mixed $one): string => self::stringify($one, $shape), $value)) . ']';
        }
        if (is_array($value) || $value instanceof \stdClass) {
            $fields = Shapes::FIELDS[$shape ?? ''] ?? [];
            $parts = [];
            foreach ((array) $value as $name => $field) {
                $parts[] = self::plain((string) $name) . ':' . self::stringify($field, $fields[$name] ?? null);
            }
            return '{' . implode(',', $parts) . '}';
        }
        if ($value === null || is_string($value) || is_int($value) || is_bool($value)) {
            return self::plain($value);
        }
        throw new \InvalidArgumentException(get_debug_type($value) . ' cannot be sent: an amount is a Decimal, an int or digits, never a float');
    }

    private static function plain(string|int|bool|null $value): string
    {
        try {
            return json_encode($value, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
        } catch (\JsonException $e) {
            throw new \InvalidArgumentException($e->getMessage(), 0, $e);
        }
    }

    /** The digits of an amount. */
    public static function amount(mixed $value): string
    {
        if (is_string($value) || is_int($value) || $value instanceof Decimal) {
            return (string) Decimal::of($value);
        }
        throw new \InvalidArgumentException('an amount is a Decimal, an int or digits, not ' . get_debug_type($value) . ': a float has no exact value');
    }
}
