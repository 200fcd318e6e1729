// Medusa's own routes delete a session when its cart changes. Code of a shop may change the amount of one, as this does.
const { Modules } = require("@medusajs/framework/utils");

exports.POST = async (req, res) => {
  const payments = req.scope.resolve(Modules.PAYMENT);
  const session = await payments.retrievePaymentSession(req.params.id);
  const { amount } = req.body;
  const updated = await payments.updatePaymentSession({ id: session.id, amount, currency_code: session.currency_code, data: session.data });
  res.json({ session: updated });
};
