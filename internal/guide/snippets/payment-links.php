//= begin
//+ require 'vendor/autoload.php';
//+
use CascadaPay\Cascada;

$cascada = new Cascada('https://pay.example', secretKey: 'sk_test_…');
//= create
$link = $cascada->createPaymentLink(
    ['amount' => '250', 'currency' => 'BRL', 'country' => 'BR', 'merchantOrderId' => 'class-7', 'description' => 'Yoga class', 'uses' => 20],
    idempotencyKey: 'link-class-7',
);
echo $link['status'], ' ', $link['uses'], "\n"; // and $link['url'] is what you send
//= close
//+ $link = ['id' => 'lnk_…']; // of the reply
//+
$closed = $cascada->updatePaymentLink($link['id'], ['status' => 'closed']);
echo $closed['status'], ' ', $closed['paid'], "\n";
