#= begin
API=https://pay.example/api/v1
KEY=sk_test_…
#= methods
curl -s "$API/payment-methods?country=BR" -H "Authorization: Bearer $KEY" | jq -r '.methods[] | select(.routable) | .paymentMethodId'
#= create
ID=$(curl -s $API/payments -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -H "Idempotency-Key: order-1001" \
  -d '{"amount": 99.9, "currency": "BRL", "paymentMethodId": "sbx_pix", "documentId": "52998224725",
       "merchantOrderId": "1001", "expand": ["paymentData"]}' | tee payment.json | jq -r .transactionId)
jq -r '.paymentData | length > 0' payment.json
#= wait
#+ ID=TXN-…   # of the reply
#+
curl -s $API/payments/$ID -H "Authorization: Bearer $KEY" | jq -r .status
#= cancel
#+ ID=TXN-…   # of the reply
#+
curl -s -X POST $API/payments/$ID/cancel -H "Authorization: Bearer $KEY" | jq -r .status
