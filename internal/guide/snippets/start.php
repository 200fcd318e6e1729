//= begin
//+ require 'vendor/autoload.php';
//+
use CascadaPay\Cascada;

$cascada = new Cascada('https://pay.example', secretKey: 'sk_test_…');
//= ping
echo $cascada->ping()['environment'], "\n";
//= pay
$payment = $cascada->createPayment(
    ['amount' => '25.5', 'currency' => 'BRL', 'paymentMethodId' => 'sbx_pix', 'documentId' => '52998224725'],
    idempotencyKey: 'first-1',
);
echo $payment['status'], "\n";
//= paid
//+ $payment = ['transactionId' => 'TXN-…']; // of the reply
//+
$cascada->simulatePayment($payment['transactionId'], ['action' => 'paid']);
echo $cascada->getPayment($payment['transactionId'])['status'], "\n";
