//= begin
//+ require 'vendor/autoload.php';
//+
use CascadaPay\Cascada;
use CascadaPay\CascadaException;

$cascada = new Cascada('https://pay.example', secretKey: 'sk_test_…');
//= simulate
$made = $cascada->createPayment(['amount' => 10, 'paymentMethodId' => 'sbx_pse']);
$cascada->simulatePayment($made['transactionId'], ['action' => 'failed']);
echo $cascada->getPayment($made['transactionId'])['status'], "\n";
//= decline
try {
    $cascada->createPayment(['amount' => '10.51', 'paymentMethodId' => 'sbx_card']);
} catch (CascadaException $e) {
    echo $e->errorCode, "\n";
}
//= session
$session = $cascada->createCheckoutSession([
    'amount' => 10, 'customer' => ['firstName' => 'Ana', 'lastName' => 'Souza', 'email' => 'ana@example.com', 'phone' => '+5511987654321'],
]);
$chosen = $cascada->selectCheckoutMethod($session['sessionId'], ['paymentMethodId' => 'sbx_pse']);
echo $cascada->simulatePayment($chosen['transactionId'], ['action' => 'paid'])['status'], "\n";
//= link
$link = $cascada->createPaymentLink(['amount' => 20, 'description' => 'Two tickets']);
// What the form of the link's page sends. The page that follows has the token of a session in its address.
$page = curl_init($link['url']);
curl_setopt_array($page, [
    CURLOPT_POSTFIELDS => http_build_query(['name' => 'Ana Souza', 'email' => 'ana@example.com']), CURLOPT_FOLLOWLOCATION => true, CURLOPT_RETURNTRANSFER => true,
]);
curl_exec($page);
$token = basename(parse_url(curl_getinfo($page, CURLINFO_EFFECTIVE_URL), PHP_URL_PATH));
$chosen = $cascada->selectCheckoutMethod($token, ['paymentMethodId' => 'sbx_pse']);
echo $cascada->simulatePayment($chosen['transactionId'], ['action' => 'paid'])['status'], "\n";
//= strict
echo $cascada->setSandbox(['strict' => true])['strict'] ? 'true' : 'false', "\n";
//= clock
echo $cascada->advanceClock(['advance' => '48h'])['advanceSeconds'], "\n";
