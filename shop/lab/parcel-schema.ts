import { z } from 'zod';

const EXTRAS = ['gift-wrapped', 'fragile', 'insured'] as const;

/** The input of a form with rows. Pages check by it, too, so it knows no database. */
export const parcelSchema = z.object({
  lines: z
    .array(
      z.object({
        sku: z.string('Choose a product.').min(1, 'Choose a product.').max(40),
        quantity: z.number('Enter a number.').int('Enter a whole number.').min(1, 'At least one.'),
      }),
    )
    .min(1, 'Add a product.')
    .max(5, 'At most five products.'),
  express: z.boolean(),
  deliverOn: z.date('Choose a day.'),
  extras: z.array(z.enum(EXTRAS)),
});

export type Parcel = z.input<typeof parcelSchema>;
