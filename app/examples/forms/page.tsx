import { IdempotentForm, issueKey } from 'oncekit/next';
import { DialogForm } from '../../../components/examples/dialog-form.tsx';
import { Example } from '../../../components/examples/example.tsx';
import { GiftForm } from '../../../components/examples/gift-form.tsx';
import { OrderCount } from '../../../components/examples/order-count.tsx';
import { PictureForm } from '../../../components/examples/picture-form.tsx';
import { StepsForm } from '../../../components/examples/steps-form.tsx';
import { Button } from '../../../components/ui/button.tsx';
import { Notice } from '../../../components/ui/notice.tsx';
import { PageTitle } from '../../../components/ui/page-title.tsx';
import { TextLink } from '../../../components/ui/text-link.tsx';
import {
  dialogOrder,
  giftOrder,
  MAX_PICTURE_BYTES,
  printOrder,
  sampleOrder,
  simplestOrder,
  stepsOrder,
} from '../../../shop/lab/example-forms.ts';
import { countExampleOrders } from '../../../shop/lab/examples.ts';
import { currentPrincipal } from '../../../shop/session/visitor.ts';
import { orderGift, orderInDialog, orderInSteps, orderMostSimply, orderPrint, orderSample } from './actions.ts';

export const metadata = { title: 'Forms of every kind' };

const operations = [simplestOrder, printOrder, giftOrder, sampleOrder, stepsOrder, dialogOrder].map(({ name }) => name);

interface Props {
  searchParams: Promise<{ sample?: string | string[] }>;
}

export default async function FormsPage({ searchParams }: Props) {
  const [count, { sample }] = await Promise.all([
    currentPrincipal().then((who) => countExampleOrders(operations, who)),
    searchParams,
  ]);
  return (
    <>
      <PageTitle lead="Each form here holds a key of its own: what becomes of one says nothing about the others.">
        Forms of every kind
      </PageTitle>
      {sample ? (
        <div className="mb-6">
          <Notice tone="bad">The sample could not be ordered. Nothing was taken from stock.</Notice>
        </div>
      ) : null}
      <div className="grid items-start gap-6 md:grid-cols-2">
        <div className="grid gap-6">
          <Example
            id="simplest"
            title="The simplest"
            text="A server component: it finds its operation, its key and its wrong fields by itself."
          >
            {/* These pages have no static shell (app/instant.ts), so nothing need stand in its place. */}
            <IdempotentForm action={orderMostSimply} intent="demo" fallback={false} noValidate className="grid gap-4">
              <label className="grid gap-1 text-sm font-medium">
                Quantity
                <input
                  name="quantity"
                  inputMode="numeric"
                  defaultValue="1"
                  className="h-11 w-full rounded-lg border border-strong-line bg-surface px-3 py-2 text-base text-ink aria-invalid:border-bad sm:h-10"
                />
              </label>
              <Button>Order mugs</Button>
            </IdempotentForm>
          </Example>
          <Example
            id="picture"
            title="A file"
            text="It is compared by its content: under one key, another picture of the same name is refused."
          >
            <PictureForm action={orderPrint} initialKey={await issueKey(printOrder)} maxBytes={MAX_PICTURE_BYTES} />
          </Example>
          <Example id="steps" title="Steps" text="One form and one key: the steps only hide what is not asked yet.">
            <StepsForm action={orderInSteps} initialKey={await issueKey(stepsOrder)} />
          </Example>
        </div>
        <div className="grid gap-6">
          <Example
            id="gift"
            title="Several buttons"
            text="The button’s value is part of what is sent. The sample goes to an action of its own, under its own key."
          >
            <GiftForm
              action={orderGift}
              initialKey={await issueKey(giftOrder)}
              sampleAction={orderSample.bind(null, await issueKey(sampleOrder))}
            />
          </Example>
          <Example
            id="dialog"
            title="A dialog"
            text="Close it while it sends: opened again, it asks what became of the order, and shows it."
          >
            <DialogForm action={orderInDialog} initialKey={await issueKey(dialogOrder)} />
          </Example>
        </div>
      </div>
      <div className="mt-6">
        <OrderCount count={count} from="these forms" />
      </div>
      <p className="mt-6">
        <TextLink href="/examples">All examples</TextLink>
      </p>
    </>
  );
}
