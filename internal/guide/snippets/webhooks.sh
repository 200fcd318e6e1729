#= begin
API=https://pay.example/api/v1
KEY=sk_test_…
#= subscribe
curl -s $API/webhooks -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \
  -d '{"url": "https://shop.example/cascada", "events": ["payment.completed", "payment.failed", "payment.refunded", "claim.opened"]}' > webhook.json
jq -r .status webhook.json   # and .secret is what you store
#= stored
WEBHOOK=$(jq -r .id webhook.json)
SECRET=$(jq -r .secret webhook.json)
#= received
T=$(date +%s)
BODY='{"id":"evt_1","type":"payment.completed","data":{"object":{"merchantOrderId":"1003"}}}'
V1=$(printf '%s.%s' "$T" "$BODY" | openssl dgst -sha256 -hmac "$SECRET" -hex | sed 's/.* //')
#= verify alone
#+ SECRET=whsec_…
# T and V1 are from the header X-Service-Signature: t=…,v1=…; BODY is the body as it came.
WANT=$(printf '%s.%s' "$T" "$BODY" | openssl dgst -sha256 -hmac "$SECRET" -hex | sed 's/.* //')
AGE=$(($(date +%s) - T))
if [ "$V1" = "$WANT" ] && [ ${AGE#-} -le 300 ]; then
  printf '%s' "$BODY" | jq -r '"\(.type) \(.data.object.merchantOrderId)"'
fi
#= replay
#+ WEBHOOK=wh_…   # of the reply
#+
curl -s $API/webhooks/$WEBHOOK/replay -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \
  -d "{\"from\": \"$(date -u -d '-1 hour' +%Y-%m-%dT%H:%M:%SZ)\"}" | jq -r .events
#= rotate
#+ WEBHOOK=wh_…   # of the reply
#+
curl -s -X POST $API/webhooks/$WEBHOOK/rotate-secret -H "Authorization: Bearer $KEY" > webhook.json
jq -r .secret[:6] webhook.json   # the whole secret is what you store
