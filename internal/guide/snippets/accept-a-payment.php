//= begin
//+ require 'vendor/autoload.php';
//+
use CascadaPay\Cascada;

$cascada = new Cascada('https://pay.example', secretKey: 'sk_test_…');
//= methods
foreach ($cascada->listPaymentMethods(['country' => 'BR'])['methods'] as $m) {
    if ($m['routable']) {
        echo $m['paymentMethodId'], "\n";
    }
}
//= create
$payment = $cascada->createPayment(
    [
        'amount' => '99.9', 'currency' => 'BRL', 'paymentMethodId' => 'sbx_pix', 'documentId' => '52998224725',
        'merchantOrderId' => '1001', 'expand' => ['paymentData'],
    ],
    idempotencyKey: 'order-1001',
);
echo $payment['paymentData'] ? 'true' : 'false', "\n";
//= wait
//+ $payment = ['transactionId' => 'TXN-…']; // of the reply
//+
echo $cascada->getPayment($payment['transactionId'])['status'], "\n";
//= cancel
//+ $payment = ['transactionId' => 'TXN-…']; // of the reply
//+
echo $cascada->cancelPayment($payment['transactionId'])['status'], "\n";
