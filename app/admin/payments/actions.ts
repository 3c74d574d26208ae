'use server';

import { redirect } from 'next/navigation';
import { withQuery } from '../../../components/admin/shared/addresses.ts';
import { paymentActs, refundUnexpected } from '../../../shop/admin/payments-acts.ts';
import { readAuditQuery } from '../../../shop/admin/query.ts';
import { postedForm } from '../../../shop/session/posted-form.ts';
import { requireAdminToAct } from '../require-admin.ts';

/** Gives a payment back that nobody expected. */
export async function refundMoney(sent: FormData): Promise<void> {
  const account = await requireAdminToAct();
  redirect(shown(sent, await refundUnexpected(postedForm(sent), account)));
}

/** Says that a person has seen to it. */
export async function seeToMoney(form: FormData): Promise<void> {
  const account = await requireAdminToAct();
  redirect(shown(form, await paymentActs.once('seen', form, account)));
}

/** The page of the list that the form stood on, with what came of it. */
function shown(form: FormData, notice: string): string {
  return withQuery('/admin/payments', { page: readAuditQuery({ page: String(form.get('page')) }).page, notice });
}
