<?php

// The common scenario of the SDKs: each prints the same lines.

declare(strict_types=1);

use CascadaPay\Cascada;
use CascadaPay\CascadaException;
use CascadaPay\ConnectionException;
use CascadaPay\Decimal;
use CascadaPay\Reply;
use CascadaPay\Webhook;
use CascadaPay\WebhookException;

require __DIR__ . '/vendor/autoload.php';

const DOCUMENTS = ['sbx_pix' => '52998224725', 'sbx_spei' => 'GODE561231GR8'];

function line(mixed ...$words): void
{
    echo implode(' ', array_map(static fn (mixed $w): string => is_bool($w) ? ($w ? 'true' : 'false') : (string) ($w ?? 'none'), $words)), "\n";
}

/** Returns the digits of an amount, which must be what its type says. */
function digits(mixed $amount): string
{
    return $amount instanceof Decimal ? (string) $amount : throw new LogicException('an amount is ' . get_debug_type($amount));
}

/** Prints how a call fails. */
function failure(string $what, Closure $call): void
{
    try {
        $call();
        line($what, 'did not fail');
    } catch (CascadaException $e) {
        $limit = $e->details['limit'] ?? null;
        line(
            $what, $e->status, $e->errorCode, $e->type, $e->param ?: 'none', $e->declineCode ?: 'none', implode(',', array_column($e->issues(), 'path')) ?: 'none',
            $limit === null ? 'none' : digits($limit['min']) . '-' . digits($limit['max']), substr($e->details['transactionId'] ?? '', 0, 4) ?: 'none',
            $e->details['reason'] ?? null, $e->helpUrl() !== '', $e->requestId !== '',
        );
    } catch (ConnectionException $e) {
        line($what, 'connection', $e->idempotencyKey !== '');
    } catch (InvalidArgumentException) {
        line($what, 'refused here');
    }
}

/** A shop's endpoint, in a process of its own. */
final class Receiver
{
    public readonly string $url;
    private readonly string $dir;
    /** @var resource */
    private $process;

    public function __construct()
    {
        $this->dir = sys_get_temp_dir() . '/cascada-' . bin2hex(random_bytes(8));
        mkdir($this->dir);
        $probe = stream_socket_server('tcp://127.0.0.1:0'); // finds a free port
        $address = stream_socket_get_name($probe, false);
        fclose($probe);
        $this->url = "http://$address/hook";
        $nothing = ['file', '/dev/null', 'a'];
        $this->process = proc_open([PHP_BINARY, '-S', $address, __DIR__ . '/receiver.php'], [$nothing, $nothing, $nothing], $pipes, null, ['DELIVERIES' => $this->dir]);
        for ($until = time() + 60; ($socket = @stream_socket_client("tcp://$address")) === false && time() < $until;) {
            usleep(20_000);
        }
        is_resource($socket) && fclose($socket);
    }

    /**
     * Waits for the next delivery of a type.
     *
     * @return array{signature: string, body: string}
     */
    public function next(string $type): array
    {
        for ($until = time() + 60; time() < $until; usleep(20_000)) {
            foreach (glob("$this->dir/*.json") as $file) {
                $delivery = json_decode(file_get_contents($file), true);
                unlink($file);
                if ($delivery['event'] === $type) {
                    return ['signature' => $delivery['signature'], 'body' => base64_decode($delivery['body'])];
                }
            }
        }
        throw new RuntimeException("no delivery of $type came");
    }

    public function close(): void
    {
        proc_terminate($this->process);
        proc_close($this->process);
        array_map('unlink', glob("$this->dir/*"));
        rmdir($this->dir);
    }
}

function pay(Cascada $api, string $method, string $amount, string $order): array
{
    $body = ['amount' => $amount, 'paymentMethodId' => $method, 'merchantOrderId' => $order];
    if (isset(DOCUMENTS[$method])) {
        $body['documentId'] = DOCUMENTS[$method];
    }
    return $api->createPayment($body, idempotencyKey: $order);
}

function payments(Cascada $api): array
{
    $made = [];
    foreach (['sbx_card', 'sbx_cash', 'sbx_pix', 'sbx_pse', 'sbx_spei'] as $method) {
        $made[] = $p = pay($api, $method, '25.50', "order-$method");
        line(
            'payment', $method, $p['status'], digits($p['amount']), $p['currency'], digits($p['amountLocal']), $p['currencyLocal'], digits($p['fxRate']),
            'fees', digits($p['fees']['total']), 'reserve', digits($p['settlement']['reserve']),
        );
    }
    $replayed = false;
    $again = $api->createPayment(
        ['amount' => Decimal::of('25.50'), 'paymentMethodId' => 'sbx_card', 'merchantOrderId' => 'order-sbx_card'],
        idempotencyKey: 'order-sbx_card',
        onReply: function (Reply $reply) use (&$replayed): void {
            $replayed = $reply->replayed;
        },
    );
    line('repeat', $again['transactionId'] === $made[0]['transactionId'], $replayed);
    failure('conflict', fn () => pay($api, 'sbx_card', '26', 'order-sbx_card'));
    failure('declined', fn () => pay($api, 'sbx_card', '10.05', 'order-declined'));
    failure('invalid', fn () => $api->createPayment(['amount' => -1, 'paymentMethodId' => 'sbx_card', 'userEmail' => 'nobody']));
    failure('limits', fn () => pay($api, 'sbx_cash', '0.01', 'order-limits'));
    failure('missing', fn () => $api->getPayment('TXN-no/such?one'));
    return $made[0];
}

function checkout(Cascada $api): void
{
    $session = $api->createCheckoutSession([
        'amount' => '49.90', 'currency' => 'BRL', 'country' => 'BR', 'merchantOrderId' => 'order-session', 'metadata' => ['cart' => 'c-311'],
        'lineItems' => [['name' => 'Tea', 'quantity' => '0.5', 'unitAmount' => '99.80']],
        'customer' => ['firstName' => 'Ana', 'lastName' => 'Souza', 'email' => 'ana@example.com', 'phone' => '+5511999990000', 'documentId' => '52998224725'],
    ]);
    line('session', $session['status'], $session['amount'], $session['currency'], $session['lineItems'][0]['quantity'], $session['metadata']['cart']);
    $read = $api->getCheckoutSession($session['sessionId']);
    line('session of', $read['customer']['firstName'], $read['status']);
    $selected = $api->selectCheckoutMethod($session['sessionId'], ['paymentMethodId' => 'sbx_pix']);
    line('selected', $selected['status'], $selected['transactionStatus']);
    failure('selected again', fn () => $api->selectCheckoutMethod($session['sessionId'], ['paymentMethodId' => 'sbx_pix']));
}

/** @param array{signature: string, body: string} $delivery */
function verify(string $what, string $secret, array $delivery, ?int $now = null): void
{
    try {
        Webhook::read($delivery['body'], $delivery['signature'], $secret, now: $now);
        line($what, 'accepted');
    } catch (WebhookException $e) {
        line($what, $e->reason);
    }
}

function webhooks(Cascada $api): void
{
    $endpoint = new Receiver();
    $webhook = $api->createWebhook(['url' => $endpoint->url, 'events' => ['payment.completed']]);
    $secret = $webhook['secret'];
    line('webhook', $webhook['status'], substr($secret, 0, 6), $webhook['managed']);
    $first = pay($api, 'sbx_pix', '12.34', 'order-hook-1');
    $api->simulatePayment($first['transactionId'], ['action' => 'paid']);
    $delivery = $endpoint->next('payment.completed');
    $event = Webhook::read($delivery['body'], $delivery['signature'], $secret);
    $payment = $event['data']['object'];
    line('event', $event['type'], $event['sequence'], $payment['merchantOrderId'], digits($payment['amount']), $event['data']['previous']['status']);
    verify('tampered', $secret, ['body' => str_replace('12.34', '99.34', $delivery['body'])] + $delivery);
    verify('foreign', 'whsec_foreign', $delivery);
    preg_match('/t=(\d+)/', $delivery['signature'], $found);
    $sent = (int) $found[1];
    verify('in time', $secret, $delivery, $sent + 300);
    verify('late', $secret, $delivery, $sent + 301);
    verify('early', $secret, $delivery, $sent - 301);
    $rotated = $api->rotateWebhookSecret($webhook['id']);
    $second = pay($api, 'sbx_pix', '10', 'order-hook-2');
    $api->simulatePayment($second['transactionId'], ['action' => 'paid']);
    $signedTwice = $endpoint->next('payment.completed');
    verify('old secret', $secret, $signedTwice);
    verify('new secret', $rotated['secret'], $signedTwice);
    $delivered = 0;
    foreach ($api->allDeliveries($webhook['id'], ['limit' => 1]) as $d) {
        $delivered += $d['event'] === 'payment.completed' ? 1 : 0;
    }
    line('deliveries', $delivered);
    $endpoint->close();
    $types = [];
    foreach ($api->allEvents(['objectId' => $second['transactionId'], 'limit' => 1]) as $e) {
        $types[] = "$e[type]:$e[sequence]";
    }
    line('events', ...$types);
    line('deleted', $api->deleteWebhook($webhook['id'])['deleted']);
}

function books(Cascada $api, array $card): void
{
    $refund = $api->refundPayment($card['transactionId'], ['amount' => '5.25', 'reason' => 'one item']);
    line('refund', digits($refund['amount']), $refund['currency'], digits($refund['amountUsd']), $refund['reason']);
    $p = $api->getPayment($card['transactionId']);
    line('refunded', $p['status'], digits($p['refundedAmountLocal']), digits($p['refundableAmountLocal']));
    failure('too much', fn () => $api->refundPayment($card['transactionId'], ['amount' => '20.26']));
    line('payments', ...array_column(iterator_to_array($api->allPayments(['limit' => 3])), 'merchantOrderId'));
    $page = $api->listPayments(['status' => 'completed', 'amount' => Decimal::of('12.34'), 'limit' => 1]);
    line('page', count($page['data']), $page['pagination']['total'], digits($page['data'][0]['amount']));
    $balance = $api->getBalance();
    $b = $balance['balance'];
    line('balance', $b['available'], $b['pending'], $b['frozen'], $b['reserve'], 'gross', $balance['feeSummary']['grossVolume'], 'fees', $balance['feeSummary']['totalFees']);
    $sums = [];
    foreach ($api->allMovements(['limit' => 7]) as $m) {
        $sums[$m['bucket']] = ($sums[$m['bucket']] ?? Decimal::of(0))->plus($m['amount']);
    }
    line('exact', $sums['pending']->equals($b['pending']), $sums['reserve']->equals($b['reserve']), Decimal::sum($b['available'], $b['pending'], $b['reserve'], $b['frozen']));
    $file = fopen('php://temp', 'r+');
    $api->exportPayments(['status' => 'completed'], $file);
    rewind($file);
    $rows = explode("\n", trim(stream_get_contents($file)));
    line('csv', count($rows), implode(',', array_slice(explode(',', $rows[0]), 0, 3)));
}

function scenario(Cascada $api): void
{
    $ping = $api->ping();
    line('ping', $ping['ok'], $ping['environment'], $ping['keyKind'], $ping['apiVersion']);
    $methods = $api->listPaymentMethods()['methods'];
    usort($methods, static fn (array $a, array $b): int => $a['paymentMethodId'] <=> $b['paymentMethodId']);
    foreach ($methods as $m) {
        $limits = array_map(static fn (array $l): string => $l['currency'] . ':' . digits($l['min']) . '-' . digits($l['max']), $m['currencyLimits']);
        line('method', $m['paymentMethodId'], $m['method'], $m['countryIso3'], $m['channel'], $m['routable'], digits($m['fee']['percent']), implode(',', $limits));
    }
    $card = payments($api);
    checkout($api);
    webhooks($api);
    books($api, $card);
    $api->logout();
    line('after logout', $api->ping()['ok']);
}

/** Pays through a proxy that loses answers and refuses. */
function flaky(Cascada $api): void
{
    $made = [];
    for ($i = 1; $i <= 3; $i++) {
        $made[] = $api->createPayment(['amount' => "1$i.10", 'paymentMethodId' => 'sbx_card', 'merchantOrderId' => "flaky-$i"]);
    }
    line('paid', ...array_map(static fn (array $p): string => $p['status'] . ':' . digits($p['amount']), $made));
    line('refund', digits($api->refundPayment($made[0]['transactionId'], ['amount' => '1.10'])['amount']));
    line('webhook', $api->createWebhook(['events' => ['payment.completed']])['status']);
    line('webhooks', $api->listWebhooks()['pagination']['total']);
    failure('wallet', fn () => $api->createWallet(['type' => 'bank_account', 'currency' => 'MXN', 'destination' => '032180000118359719']));
    line('wallets', $api->listWallets()['pagination']['total']);
    line('payments', $api->listPayments()['pagination']['total'], 'gross', digits($api->getBalance()['feeSummary']['grossVolume']));
}

/** Reads replies that no service sends. */
function attack(Cascada $api): void
{
    $p = $api->getPayment('unknown');
    line(
        'unknown', $p['status'], digits($p['amount']), digits($p['fees']['total']), $p['newBig'], $p['newSmall'], $p['newRate'],
        json_encode($p['newObject']), array_key_exists('__proto__', $p), $p['metadata']['n'],
    );
    $future = $api->getEvent('future');
    line('future', $future['type'], $future['sequence']);
    foreach (['redirect', 'short', 'chunks', 'html', 'empty', 'deep', 'later', 'brand-new', 'latin'] as $id) {
        failure($id, fn () => $api->getPayment($id));
    }
    failure('slow', fn () => $api->getPayment('slow', timeout: 0.3, retries: 0));
    $tries = 0;
    $count = function (Reply $reply) use (&$tries): void {
        $tries = $reply->tries;
    };
    foreach (['date', 'stale'] as $id) {
        $api->getPayment($id, onReply: $count);
        line($id, $tries);
    }
    line('path', $api->getPayment('../../a b?c#d/%2e')['id']);
    foreach (['..', '.'] as $id) {
        failure("path $id", fn () => $api->getPayment($id));
    }
    foreach (['1e3', '25,50', '0x10', '', ' 1', 'NaN', '١'] as $amount) {
        failure("amount $amount", fn () => $api->createPayment(['amount' => $amount, 'paymentMethodId' => 'sbx_card']));
    }
    failure('key', fn () => $api->createPayment(['amount' => 1, 'paymentMethodId' => 'sbx_card'], idempotencyKey: "a\nAuthorization: b"));
    failure('csv', fn () => $api->exportPayments());
    $api->createPayment(['amount' => 1, 'paymentMethodId' => 'busy'], onReply: $count);
    line('busy', $tries);
    failure('stored', fn () => $api->createPayment(['amount' => 1, 'paymentMethodId' => 'stored']));
    $api->simulatePayment('nothing-done', ['action' => 'paid'], onReply: $count);
    line('nothing done', $tries);
    failure('proxy', fn () => $api->simulatePayment('proxy', ['action' => 'paid']));
    $rows = 0;
    foreach ($api->allPayments(['limit' => 1]) as $_) {
        if (++$rows > 9) {
            break;
        }
    }
    line('rows', $rows);
    line('sent', $api->createPayment(['amount' => '12345678901234567.89', 'paymentMethodId' => 'é"', 'metadata' => ['amount' => '0.10']])['merchantOrderId']);
}

/** Verifies the deliveries of the documentation. */
function vectors(): void
{
    foreach (json_decode(getenv('CASCADA_VECTORS'), true) as $v) {
        verify($v['name'], $v['secret'], ['signature' => $v['header'], 'body' => $v['body']], $v['now']);
    }
}

$api = new Cascada(getenv('CASCADA_URL'), secretKey: getenv('CASCADA_SECRET'), publishableKey: getenv('CASCADA_PUBLISHABLE'), retries: 5, retryDelay: 0.01);
match ($argv[1] ?? 'scenario') {
    'scenario' => scenario($api),
    'flaky' => flaky($api),
    'attack' => attack($api),
    'vectors' => vectors(),
};
