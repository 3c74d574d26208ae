/** The lab's form as the shop's API takes it: a number is a number, and there is a card. */
export function readGoods(form: FormData) {
  const text = (name: string) => String(form.get(name) ?? '');
  return {
    goods: { sku: text('sku'), quantity: Number(text('quantity')), payment_method: 'pm_card_visa' as const },
    call: { key: text('idempotency_key'), attempt: Number(form.get('idempotency_attempt')) || undefined },
  };
}
