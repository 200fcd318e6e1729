#= subscribe
from datetime import datetime, timedelta, timezone
from cascadapay import Cascada, WebhookError, read_webhook

cascada = Cascada("https://pay.example", secret_key="sk_test_…")
webhook = cascada.create_webhook(
    {"url": "https://shop.example/cascada", "events": ["payment.completed", "payment.failed", "payment.refunded", "claim.opened"]}
)
secret = webhook["secret"]
#= verify
# headers and body are those of the request. Give the body as it came, not parsed.
def handle(headers, body: bytes) -> int:
    try:
        event = read_webhook(body, headers, secret)
    except WebhookError:
        return 401
    # Store event["id"] first, and drop an event that you have seen.
    if event["type"] == "payment.completed":
        print(event["type"], event["data"]["object"]["merchantOrderId"])
    return 204
#= received
import hashlib, hmac, time

body = b'{"id":"evt_1","type":"payment.completed","data":{"object":{"merchantOrderId":"1003"}}}'
t = str(int(time.time()))
v1 = hmac.new(secret.encode(), t.encode() + b"." + body, hashlib.sha256).hexdigest()
assert handle({"X-Service-Signature": f"t={t},v1={v1}"}, body) == 204
assert handle({"X-Service-Signature": f"t={t},v1={v1}"}, body + b" ") == 401
#= replay
an_hour_ago = datetime.now(timezone.utc) - timedelta(hours=1)
replay = cascada.replay_events(webhook["id"], {"from": an_hour_ago.strftime("%Y-%m-%dT%H:%M:%SZ")})
print("true" if replay["events"] >= 0 else "false")
#= rotate
rotated = cascada.rotate_webhook_secret(webhook["id"])
print("true" if rotated["secret"].startswith("whsec_") else "false")
