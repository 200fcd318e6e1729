//= begin
//+ require 'vendor/autoload.php';
//+
use CascadaPay\Cascada;

$cascada = new Cascada('https://pay.example', secretKey: 'sk_test_…');
//= open
$session = $cascada->createCheckoutSession(
    [
        'amount' => '250', 'currency' => 'BRL', 'country' => 'BR', 'merchantOrderId' => '1002', 'returnUrl' => 'https://shop.example/thanks',
        'customer' => ['firstName' => 'Ana', 'lastName' => 'Souza', 'email' => 'ana@example.com', 'phone' => '+5511987654321'],
        'description' => 'Yoga class',
    ],
    idempotencyKey: 'order-1002',
);
echo $session['status'], "\n"; // and $session['checkoutUrl'] is where you send the shopper
//= methods
foreach ($cascada->getCheckoutSession($session['sessionId'])['methods'] as $m) {
    echo $m['paymentMethodId'], ' ', $m['currencyLocal'], ' ', $m['payable'] ? 'true' : 'false', "\n";
}
//= select
$chosen = $cascada->selectCheckoutMethod($session['sessionId'], ['paymentMethodId' => 'sbx_pix', 'customer' => ['documentId' => '52998224725']]);
$transactionId = $chosen['transactionId'];
//= read
//+ $transactionId = 'TXN-…'; // of the event
//+
$payment = $cascada->getPayment($transactionId);
echo $payment['status'], ' ', $payment['merchantOrderId'], "\n";
