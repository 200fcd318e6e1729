//= begin
//+ require 'vendor/autoload.php';
//+
use CascadaPay\Cascada;

$cascada = new Cascada('https://pay.example', secretKey: 'sk_test_…');
//= setup
$order = ['amount' => '100', 'currency' => 'BRL', 'paymentMethodId' => 'sbx_pix', 'documentId' => '52998224725'];
$paid = fn (string $action): string => $cascada->createPayment($order, sandboxSimulate: $action)['transactionId'];
$paid('paid');
$transactionId = $paid('paid');
$paid('chargeback');
//= refund
//+ $transactionId = 'TXN-…'; // the payment
//+
$refund = $cascada->refundPayment(
    $transactionId, ['amount' => '30', 'reason' => 'one of two returned'], idempotencyKey: 'refund-1001-1',
);
echo $refund['amount'], ' ', $refund['currency'], "\n";
//= claims
foreach ($cascada->allClaims(['status' => 'needs_evidence']) as $claim) {
    echo $claim['type'], "\n";
}
//= pick
$claimId = $cascada->listClaims(['status' => 'needs_evidence'])['data'][0]['id'];
//= evidence
//+ $claimId = 'CLM-…'; // of the event, or of the list
//+
$answered = $cascada->submitEvidence(
    $claimId, ['kind' => 'delivery_proof', 'text' => 'Delivered on 12 May, signed by the shopper'],
);
echo $answered['status'], "\n";
