#= begin
API=https://pay.example/api/v1
KEY=sk_test_…
#= ping
curl -s $API/ping -H "Authorization: Bearer $KEY" | jq -r .environment
#= pay
ID=$(curl -s $API/payments -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -H "Idempotency-Key: first-1" \
  -d '{"amount": 25.5, "currency": "BRL", "paymentMethodId": "sbx_pix", "documentId": "52998224725"}' | jq -r .transactionId)
curl -s $API/payments/$ID -H "Authorization: Bearer $KEY" | jq -r .status
#= paid
#+ ID=TXN-…   # of the reply
#+
curl -s $API/payments/$ID/simulate -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"action": "paid"}' >/dev/null
curl -s $API/payments/$ID -H "Authorization: Bearer $KEY" | jq -r .status
