//= begin
//+ require 'vendor/autoload.php';
//+
use CascadaPay\Cascada;

$cascada = new Cascada('https://pay.example', secretKey: 'sk_test_…');
//= offer
foreach ($cascada->listPaymentMethods()['methods'] as $m) {
    if ($m['installments']) {
        echo $m['paymentMethodId'], ' ', $m['installments']['max'], "\n";
    }
}
//= create
$made = $cascada->createPayment([
    'amount' => '1200', 'currency' => 'MXN', 'paymentMethodId' => 'sbx_card', 'installments' => ['max' => 6, 'interestFree' => 3],
]);
$payment = $cascada->getPayment($made['transactionId']);
echo $payment['installments']['count'], "\n";
