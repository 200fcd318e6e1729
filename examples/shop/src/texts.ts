// What the shop says, in the languages that the checkout speaks too.
import type { Sku } from "./catalogue.js";

const en = {
  shop: "Cascada Demo Shop", skip: "Skip to the content", cart: "Cart", catalogue: "Goods", country: "Country", language: "Language", show: "Change",
  sandbox: "This is a demo: no money moves.", title_home: "Good things for the office", add: "Add to cart", empty: "Your cart is empty.", keep_shopping: "Keep shopping",
  product: "Product", quantity: "Quantity", sum: "Price", total: "Total", update: "Update cart", remove_hint: "0 removes a product.",
  coffee: "Coffee, 250 g", mug: "Mug", bag: "Tote bag", sticker: "Sticker", pin: "Enamel pin",
  coffee_text: "Roasted on Tuesdays, in Medellín.", mug_text: "Holds a third of a litre and most opinions.", bag_text: "Carries eleven kilos of avocados.",
  sticker_text: "With a coffee the test card has no funds: the total ends in .51.", pin_text: "With a coffee the test card asks for 3-D Secure: the total ends in .65.",
  your_data: "Your details", firstName: "First name", lastName: "Last name", email: "E-mail", phone: "Phone, with country code",
  how: "How to pay", mode_redirect: "On Cascada's page", mode_redirect_text: "The shop sends you there and gets you back. The least work for a shop.",
  mode_window: "In a window over this shop", mode_window_text: "cascada.js opens the same page here.",
  mode_own: "Choose the method here", mode_own_text: "The shop draws the choice itself, and shows how to pay in its page.",
  buy: "Buy", wrong_firstName: "Enter your first name.", wrong_lastName: "Enter your last name.", wrong_email: "Enter an e-mail address, such as ana@example.com.",
  wrong_phone: "Enter a phone number with its country code, such as +55 11 98765 4321.",
  refused: "This order cannot be paid. Nothing was charged.", amount_out_of_limits: "No payment method of this country accepts this amount. Nothing was charged.",
  unreachable: "The payment service does not answer. Nothing was charged, and your order is kept: press Buy again.",
  still_open: "Your earlier payment is just being called off. Wait a moment, and press Buy again.",
  changed: "The cart or a price has changed. This is the total now.", order: "Order", order_of: "Order of", back: "Back to the shop", pay_now: "Go to the payment", cancel: "Cancel this order", choose: "Choose how to pay", your_document: "Your document number",
  go_on: "Continue", pay_open: "Open the payment", pay_page: "Pay on Cascada's page instead", choice_failed: "That did not work. Check the number, or choose another method.", needs_script: "This needs JavaScript.", close: "Close",
  opening: "Your order is being prepared", refused_status: "This order cannot be paid", open: "This order is not paid yet", waiting: "Waiting for your payment",
  failed: "The payment did not work", expired: "The time to pay is over", canceling: "The payment is being called off", canceled: "Canceled", paid: "Paid. Thank you!",
  refunding: "Paid. A refund is on its way", partly_refunded: "Paid, and refunded in part", refunded: "Refunded", disputed: "Your bank has asked for the money back",
  waiting_text: "As soon as the money is there, this page says so. You may close it.", held: "Your money came late, or in another amount", held_text: "Do not pay again. We give it back, or call you.", failed_text: "Nothing was charged. You can try again with another card or method.",
  paid_text: "We are packing your order.", canceled_text: "Nothing was charged.", try_again: "Try again",
  paid_canceled: "The money came after the order was canceled. We give it back, or call you.", given_back: "given back", on_its_way_back: "on its way back",
  error_404: "There is no such page.", error_403: "This request did not come from a page of the shop. Go back and try again.", error_503: "The payment service does not answer. Nothing has changed: try again in a moment.", error_other: "Something went wrong.",
  // For the staff.
  admin: "Orders", no_orders: "There are no orders yet.", status: "Status", placed_at: "Placed", customer: "Customer", payments: "Payments", refunds: "Refunds",
  amount: "Amount", reason: "Reason", refund: "Refund", refund_amount: "Amount, empty for all that is left", left: "left", refund_wrong: "Enter an amount that is not above what is left.",
  refund_asked: "asked for", refund_under: "on its way", refund_approved: "refunded", refund_rejected: "refused by the provider", refund_refused: "refused", none: "none",
  paid_twice: "Paid twice: give one payment back.", inquiry: "Money came late or in another amount. Do not charge again: the operator of Cascada returns it or credits you.", wrong_amount: "Another amount was paid than the order's.", mode: "Mode",
} as const;

export type Word = keyof typeof en;

const es: Record<Word, string> = {
  shop: "Tienda demo de Cascada", skip: "Ir al contenido", cart: "Carrito", catalogue: "Productos", country: "País", language: "Idioma", show: "Cambiar",
  sandbox: "Es una demostración: no se mueve dinero.", title_home: "Cosas buenas para la oficina", add: "Agregar al carrito", empty: "Tu carrito está vacío.", keep_shopping: "Seguir comprando",
  product: "Producto", quantity: "Cantidad", sum: "Precio", total: "Total", update: "Actualizar carrito", remove_hint: "0 quita un producto.",
  coffee: "Café, 250 g", mug: "Taza", bag: "Bolsa de tela", sticker: "Calcomanía", pin: "Pin esmaltado",
  coffee_text: "Tostado los martes, en Medellín.", mug_text: "Un tercio de litro y casi todas las opiniones.", bag_text: "Aguanta once kilos de aguacates.",
  sticker_text: "Con un café la tarjeta de prueba no tiene fondos: el total termina en .51.", pin_text: "Con un café la tarjeta de prueba pide 3-D Secure: el total termina en .65.",
  your_data: "Tus datos", firstName: "Nombre", lastName: "Apellido", email: "Correo electrónico", phone: "Teléfono, con código de país",
  how: "Cómo pagar", mode_redirect: "En la página de Cascada", mode_redirect_text: "La tienda te envía allí y te recibe de vuelta. Lo más simple para una tienda.",
  mode_window: "En una ventana sobre esta tienda", mode_window_text: "cascada.js abre la misma página aquí.",
  mode_own: "Elegir el medio aquí", mode_own_text: "La tienda dibuja la elección y muestra cómo pagar en su página.",
  buy: "Comprar", wrong_firstName: "Escribe tu nombre.", wrong_lastName: "Escribe tu apellido.", wrong_email: "Escribe un correo, como ana@example.com.",
  wrong_phone: "Escribe un teléfono con código de país, como +52 55 1234 5678.",
  refused: "Este pedido no se puede pagar. No se cobró nada.", amount_out_of_limits: "Ningún medio de pago de este país acepta este monto. No se cobró nada.",
  unreachable: "El servicio de pagos no responde. No se cobró nada y tu pedido queda guardado: presiona Comprar otra vez.",
  still_open: "Se está anulando tu pago anterior. Espera un momento y presiona Comprar otra vez.",
  changed: "El carrito o un precio cambió. Este es el total ahora.", order: "Pedido", order_of: "Pedido de", back: "Volver a la tienda", pay_now: "Ir al pago", cancel: "Cancelar este pedido", choose: "Elige cómo pagar", your_document: "Número de tu documento",
  go_on: "Continuar", pay_open: "Abrir el pago", pay_page: "Pagar en la página de Cascada", choice_failed: "No funcionó. Revisa el número o elige otro medio.", needs_script: "Esto necesita JavaScript.", close: "Cerrar",
  opening: "Estamos preparando tu pedido", refused_status: "Este pedido no se puede pagar", open: "Este pedido aún no está pagado", waiting: "Esperamos tu pago",
  failed: "El pago no funcionó", expired: "Se acabó el tiempo para pagar", canceling: "Se está anulando el pago", canceled: "Cancelado", paid: "Pagado. ¡Gracias!",
  refunding: "Pagado. Hay una devolución en camino", partly_refunded: "Pagado y devuelto en parte", refunded: "Devuelto", disputed: "Tu banco pidió el dinero de vuelta",
  waiting_text: "Cuando llegue el dinero, esta página lo dirá. Puedes cerrarla.", held: "Tu dinero llegó tarde o en otro monto", held_text: "No pagues otra vez. Lo devolvemos o te llamamos.", failed_text: "No se cobró nada. Puedes intentar con otra tarjeta u otro medio.",
  paid_text: "Estamos empacando tu pedido.", canceled_text: "No se cobró nada.", try_again: "Intentar otra vez",
  paid_canceled: "El dinero llegó después de cancelar el pedido. Lo devolvemos o te llamamos.", given_back: "devuelto", on_its_way_back: "en camino de vuelta",
  error_404: "Esta página no existe.", error_403: "La solicitud no vino de una página de la tienda. Vuelve e intenta otra vez.", error_503: "El servicio de pagos no responde. Nada ha cambiado: intenta otra vez en un momento.", error_other: "Algo salió mal.",
  admin: "Pedidos", no_orders: "Aún no hay pedidos.", status: "Estado", placed_at: "Fecha", customer: "Cliente", payments: "Pagos", refunds: "Devoluciones",
  amount: "Monto", reason: "Motivo", refund: "Devolver", refund_amount: "Monto; vacío para todo lo que queda", left: "queda", refund_wrong: "Escribe un monto que no supere lo que queda.",
  refund_asked: "pedida", refund_under: "en camino", refund_approved: "devuelta", refund_rejected: "rechazada por el proveedor", refund_refused: "rechazada", none: "ninguno",
  paid_twice: "Pagado dos veces: devuelve un pago.", inquiry: "Llegó dinero tarde o en otro monto. No cobres otra vez: el operador de Cascada lo devuelve o te lo acredita.", wrong_amount: "Se pagó otro monto que el del pedido.", mode: "Modo",
};

const pt: Record<Word, string> = {
  shop: "Loja demo da Cascada", skip: "Ir para o conteúdo", cart: "Carrinho", catalogue: "Produtos", country: "País", language: "Idioma", show: "Mudar",
  sandbox: "É uma demonstração: nenhum dinheiro se move.", title_home: "Coisas boas para o escritório", add: "Adicionar ao carrinho", empty: "Seu carrinho está vazio.", keep_shopping: "Continuar comprando",
  product: "Produto", quantity: "Quantidade", sum: "Preço", total: "Total", update: "Atualizar carrinho", remove_hint: "0 tira um produto.",
  coffee: "Café, 250 g", mug: "Caneca", bag: "Sacola de pano", sticker: "Adesivo", pin: "Pin esmaltado",
  coffee_text: "Torrado às terças, em Medellín.", mug_text: "Um terço de litro e quase todas as opiniões.", bag_text: "Leva onze quilos de abacates.",
  sticker_text: "Com um café o cartão de teste não tem saldo: o total termina em .51.", pin_text: "Com um café o cartão de teste pede 3-D Secure: o total termina em .65.",
  your_data: "Seus dados", firstName: "Nome", lastName: "Sobrenome", email: "E-mail", phone: "Telefone, com código do país",
  how: "Como pagar", mode_redirect: "Na página da Cascada", mode_redirect_text: "A loja manda você para lá e recebe de volta. O mais simples para uma loja.",
  mode_window: "Numa janela sobre esta loja", mode_window_text: "cascada.js abre a mesma página aqui.",
  mode_own: "Escolher o meio aqui", mode_own_text: "A loja desenha a escolha e mostra como pagar na página dela.",
  buy: "Comprar", wrong_firstName: "Escreva seu nome.", wrong_lastName: "Escreva seu sobrenome.", wrong_email: "Escreva um e-mail, como ana@example.com.",
  wrong_phone: "Escreva um telefone com código do país, como +55 11 98765 4321.",
  refused: "Este pedido não pode ser pago. Nada foi cobrado.", amount_out_of_limits: "Nenhum meio de pagamento deste país aceita este valor. Nada foi cobrado.",
  unreachable: "O serviço de pagamentos não responde. Nada foi cobrado e seu pedido está guardado: aperte Comprar de novo.",
  still_open: "Seu pagamento anterior está sendo cancelado. Espere um momento e aperte Comprar de novo.",
  changed: "O carrinho ou um preço mudou. Este é o total agora.", order: "Pedido", order_of: "Pedido de", back: "Voltar à loja", pay_now: "Ir para o pagamento", cancel: "Cancelar este pedido", choose: "Escolha como pagar", your_document: "Número do seu documento",
  go_on: "Continuar", pay_open: "Abrir o pagamento", pay_page: "Pagar na página da Cascada", choice_failed: "Não funcionou. Confira o número ou escolha outro meio.", needs_script: "Isto precisa de JavaScript.", close: "Fechar",
  opening: "Estamos preparando seu pedido", refused_status: "Este pedido não pode ser pago", open: "Este pedido ainda não foi pago", waiting: "Esperamos seu pagamento",
  failed: "O pagamento não funcionou", expired: "O prazo para pagar acabou", canceling: "O pagamento está sendo cancelado", canceled: "Cancelado", paid: "Pago. Obrigado!",
  refunding: "Pago. Há um reembolso a caminho", partly_refunded: "Pago e reembolsado em parte", refunded: "Reembolsado", disputed: "Seu banco pediu o dinheiro de volta",
  waiting_text: "Quando o dinheiro chegar, esta página avisa. Você pode fechá-la.", held: "Seu dinheiro chegou tarde ou em outro valor", held_text: "Não pague de novo. Devolvemos ou ligamos para você.", failed_text: "Nada foi cobrado. Você pode tentar com outro cartão ou outro meio.",
  paid_text: "Estamos embalando seu pedido.", canceled_text: "Nada foi cobrado.", try_again: "Tentar de novo",
  paid_canceled: "O dinheiro chegou depois do cancelamento. Devolvemos ou ligamos para você.", given_back: "reembolsado", on_its_way_back: "a caminho de volta",
  error_404: "Esta página não existe.", error_403: "O pedido não veio de uma página da loja. Volte e tente de novo.", error_503: "O serviço de pagamentos não responde. Nada mudou: tente de novo em um momento.", error_other: "Algo deu errado.",
  admin: "Pedidos", no_orders: "Ainda não há pedidos.", status: "Situação", placed_at: "Data", customer: "Cliente", payments: "Pagamentos", refunds: "Reembolsos",
  amount: "Valor", reason: "Motivo", refund: "Reembolsar", refund_amount: "Valor; vazio para tudo o que resta", left: "resta", refund_wrong: "Escreva um valor que não passe do que resta.",
  refund_asked: "pedido", refund_under: "a caminho", refund_approved: "reembolsado", refund_rejected: "recusado pelo provedor", refund_refused: "recusado", none: "nenhum",
  paid_twice: "Pago duas vezes: devolva um pagamento.", inquiry: "Chegou dinheiro tarde ou em outro valor. Não cobre de novo: o operador da Cascada devolve ou credita a você.", wrong_amount: "Foi pago outro valor que o do pedido.", mode: "Modo",
};

export const languages = { en, es, pt } as const;
export type Language = keyof typeof languages;
export const isLanguage = (text: string): text is Language => Object.hasOwn(languages, text);
export const text = (word: Word, language: Language): string => languages[language][word];
export const productName = (sku: Sku, language: Language): string => text(sku, language);
