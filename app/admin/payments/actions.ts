'use server';

import { redirect } from 'next/navigation';
import { withQuery } from '../../../components/admin/shared/addresses.ts';
import { paymentActs, refundUnexpected } from '../../../shop/admin/payments-acts.ts';
import { postedForm } from '../../../shop/session/posted-form.ts';
import { requireAdminToAct } from '../require-admin.ts';

/** Gives a payment back that nobody expected. */
export async function refundMoney(sent: FormData): Promise<void> {
  const account = await requireAdminToAct();
  redirect(withQuery('/admin/payments', { notice: await refundUnexpected(postedForm(sent), account) }));
}

/** Says that a person has seen to it. */
export async function seeToMoney(form: FormData): Promise<void> {
  const account = await requireAdminToAct();
  redirect(withQuery('/admin/payments', { notice: await paymentActs.once('seen', form, account) }));
}
