#= simulate
API=https://pay.example/api/v1
KEY=sk_test_…

ID=$(curl -s $API/payments -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \
  -d '{"amount": 10, "paymentMethodId": "sbx_pse"}' | jq -r .transactionId)
curl -s $API/payments/$ID/simulate -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"action": "failed"}' >/dev/null
curl -s $API/payments/$ID -H "Authorization: Bearer $KEY" | jq -r .status
#= decline
curl -s $API/payments -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \
  -d '{"amount": 10.51, "paymentMethodId": "sbx_card"}' | jq -r .error.code
#= strict
curl -s -X PATCH $API/sandbox/settings -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"strict": true}' | jq -r .strict
#= clock
curl -s $API/sandbox/clock -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"advance": "48h"}' | jq -r .advanceSeconds
