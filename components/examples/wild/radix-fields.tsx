'use client';

import * as Checkbox from '@radix-ui/react-checkbox';
import * as RadioGroup from '@radix-ui/react-radio-group';
import * as Select from '@radix-ui/react-select';
import * as Switch from '@radix-ui/react-switch';
import { type ReactNode, useId } from 'react';

const QUANTITIES = ['1', '2', '3', '4', '5'];
const WRAPPINGS = { none: 'No wrapping', paper: 'Paper', box: 'A box' };

/** A choice, a box, a switch and a group, as shadcn has them. */
export function RadixFields() {
  return (
    <div className="grid gap-3">
      <Quantity />
      <Labelled label="As a gift">
        {(id) => (
          <Checkbox.Root
            id={id}
            name="gift"
            className="size-6 rounded border border-strong-line bg-surface data-[state=checked]:bg-accent"
          >
            <Checkbox.Indicator className="block text-on-accent">✓</Checkbox.Indicator>
          </Checkbox.Root>
        )}
      </Labelled>
      <Labelled label="Express">
        {(id) => (
          <Switch.Root
            id={id}
            name="express"
            className="h-6 w-10 rounded-full border border-strong-line bg-sunken p-0.5 data-[state=checked]:bg-accent"
          >
            <Switch.Thumb className="block size-4 rounded-full bg-strong-line data-[state=checked]:translate-x-4 data-[state=checked]:bg-on-accent" />
          </Switch.Root>
        )}
      </Labelled>
      <RadioGroup.Root name="wrap" defaultValue="none" aria-label="Wrapping" className="grid gap-1">
        {Object.entries(WRAPPINGS).map(([value, label]) => (
          <Labelled key={value} label={label}>
            {(id) => (
              <RadioGroup.Item
                id={id}
                value={value}
                className="grid size-6 place-items-center rounded-full border border-strong-line bg-surface"
              >
                <RadioGroup.Indicator className="size-3 rounded-full bg-accent" />
              </RadioGroup.Item>
            )}
          </Labelled>
        ))}
      </RadioGroup.Root>
    </div>
  );
}

/** A choice that opens in a portal. */
function Quantity() {
  const id = useId();
  return (
    <div>
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        Quantity
      </label>
      <Select.Root name="quantity" defaultValue="1">
        <Select.Trigger
          id={id}
          className="flex h-11 w-full items-center justify-between rounded-lg border border-strong-line bg-surface px-3 text-base text-ink sm:h-10"
        >
          <Select.Value />
          <Select.Icon className="text-muted" />
        </Select.Trigger>
        <Select.Portal>
          <Select.Content
            position="popper"
            sideOffset={4}
            className="w-(--radix-select-trigger-width) rounded-lg border border-line bg-surface p-1 text-ink shadow-(--raise)"
          >
            <Select.Viewport>
              {QUANTITIES.map((quantity) => (
                <Select.Item
                  key={quantity}
                  value={quantity}
                  className="cursor-default rounded-md px-3 py-2 outline-none data-[highlighted]:bg-sunken"
                >
                  <Select.ItemText>{quantity}</Select.ItemText>
                </Select.Item>
              ))}
            </Select.Viewport>
          </Select.Content>
        </Select.Portal>
      </Select.Root>
    </div>
  );
}

/** A control with its words behind it. */
function Labelled({ label, children }: { label: string; children: (id: string) => ReactNode }) {
  const id = useId();
  return (
    <div className="flex min-h-8 items-center gap-3">
      {children(id)}
      <label htmlFor={id} className="text-sm">
        {label}
      </label>
    </div>
  );
}
