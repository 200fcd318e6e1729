//= begin
//+ require 'vendor/autoload.php';
//+
use CascadaPay\Cascada;

$cascada = new Cascada('https://pay.example', secretKey: 'sk_test_…');
//= subscribe
$webhook = $cascada->createWebhook([
    'url' => 'https://shop.example/cascada', 'events' => ['payment.completed', 'payment.failed', 'payment.refunded', 'claim.opened'],
]);
echo $webhook['status'], "\n"; // and $webhook['secret'] is what you store
//= stored
$secret = $webhook['secret'];
//= verify alone
//+ require 'vendor/autoload.php';
//+
use CascadaPay\Webhook;
use CascadaPay\WebhookException;

// The header is X-Service-Signature, in $_SERVER['HTTP_X_SERVICE_SIGNATURE'], and the body file_get_contents('php://input').
function handle(string $header, string $body, string $secret): int
{
    try {
        $event = Webhook::read($body, $header, $secret);
    } catch (WebhookException $e) {
        return 401;
    }
    // Store $event['id'] first, and drop an event that you have seen.
    if ($event['type'] === 'payment.completed') {
        echo $event['type'], ' ', $event['data']['object']['merchantOrderId'], "\n";
    }
    return 204;
}
//+
//+ http_response_code(handle($_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? '', file_get_contents('php://input'), 'whsec_…'));
//= received
$body = '{"id":"evt_1","type":"payment.completed","data":{"object":{"merchantOrderId":"1003"}}}';
$t = time();
$v1 = hash_hmac('sha256', "$t.$body", $secret);
if (handle("t=$t,v1=$v1", $body, $secret) !== 204 || handle("t=$t,v1=$v1", "$body ", $secret) !== 401) {
    exit(1);
}
//= replay
//+ $webhook = ['id' => 'wh_…']; // of the reply
//+
$replay = $cascada->replayEvents($webhook['id'], ['from' => gmdate('Y-m-d\TH:i:s\Z', time() - 3600)]);
echo $replay['events'], "\n";
//= rotate
//+ $webhook = ['id' => 'wh_…']; // of the reply
//+
$rotated = $cascada->rotateWebhookSecret($webhook['id']);
echo substr($rotated['secret'], 0, 6), "\n"; // the whole secret is what you store
