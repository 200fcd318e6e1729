//= simulate
use CascadaPay\Cascada;
use CascadaPay\CascadaException;

$cascada = new Cascada('https://pay.example', secretKey: 'sk_test_…');
$made = $cascada->createPayment(['amount' => 10, 'paymentMethodId' => 'sbx_pse']);
$cascada->simulatePayment($made['transactionId'], ['action' => 'failed']);
echo $cascada->getPayment($made['transactionId'])['status'], "\n";
//= decline
try {
    $cascada->createPayment(['amount' => '10.51', 'paymentMethodId' => 'sbx_card']);
} catch (CascadaException $e) {
    echo $e->errorCode, "\n";
}
//= strict
echo $cascada->setSandbox(['strict' => true])['strict'] ? 'true' : 'false', "\n";
//= clock
echo $cascada->advanceClock(['advance' => '48h'])['advanceSeconds'], "\n";
