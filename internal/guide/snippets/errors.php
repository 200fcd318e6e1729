//= begin
//+ require 'vendor/autoload.php';
//+
use CascadaPay\Cascada;
use CascadaPay\CascadaException;
use CascadaPay\ConnectionException;

$cascada = new Cascada('https://pay.example', secretKey: 'sk_test_…');
//= catch
try {
    $cascada->createPayment(['amount' => 5, 'currency' => 'MXN', 'paymentMethodId' => 'sbx_cash']);
} catch (CascadaException $e) {
    echo $e->errorCode, ' ', $e->details['limit']['min'], "\n";
} catch (ConnectionException $e) {
    echo 'not known: repeat it with the key ', $e->idempotencyKey, "\n";
}
