<?php

// A shop's endpoint: it keeps what comes, one file for each delivery.

declare(strict_types=1);

$delivery = ['event' => $_SERVER['HTTP_X_SERVICE_EVENT'] ?? '', 'signature' => $_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? '', 'body' => base64_encode(file_get_contents('php://input'))];
$file = getenv('DELIVERIES') . '/' . ($_SERVER['HTTP_X_SERVICE_DELIVERY'] ?? 'none');
file_put_contents("$file.part", json_encode($delivery));
rename("$file.part", "$file.json");
http_response_code(204);
