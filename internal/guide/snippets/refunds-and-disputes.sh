#= begin
API=https://pay.example/api/v1
KEY=sk_test_…
#= setup
paid() { curl -s $API/payments -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -H "Sandbox-Simulate: $1" -d '{"amount": 100, "currency": "BRL", "paymentMethodId": "sbx_pix", "documentId": "52998224725"}' | jq -r .transactionId; }
paid paid >/dev/null
ID=$(paid paid)
paid chargeback >/dev/null
#= refund
#+ ID=TXN-…   # the payment
#+
curl -s $API/payments/$ID/refund -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -H "Idempotency-Key: refund-1001-1" \
  -d '{"amount": 30, "reason": "one of two returned"}' | jq -r '"\(.amount) \(.currency)"'
#= claims
curl -s "$API/claims?status=needs_evidence" -H "Authorization: Bearer $KEY" > claims.json
jq -r '.data[] | .type' claims.json
#= pick
CLAIM=$(jq -r '.data[0].id' claims.json)
#= evidence
#+ CLAIM=CLM-…   # of the event, or of the list
#+
curl -s $API/claims/$CLAIM/evidence -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \
  -d '{"kind": "delivery_proof", "text": "Delivered on 12 May, signed by the shopper"}' | jq -r .status
