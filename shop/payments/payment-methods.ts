/** Stripe's test payment methods. They work the same with a real test account and with the bundled gateway. */
export const paymentMethods = ['pm_card_visa', 'pm_card_chargeDeclined'] as const;

const labels: Record<(typeof paymentMethods)[number], string> = {
  pm_card_visa: 'Visa ending in 4242',
  pm_card_chargeDeclined: 'A card that is declined',
};

export interface PaymentChoice {
  value: string;
  label: string;
}

/** As people know them. */
export const paymentChoices: PaymentChoice[] = paymentMethods.map((value) => ({ value, label: labels[value] }));
