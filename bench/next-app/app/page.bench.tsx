import { withKit, withoutKit } from './actions.ts';

/** Two forms, of which route.ts reads the names that Next gives their actions. Nobody submits them. */
export default function Page() {
  const plain = withoutKit as unknown as (form: FormData) => Promise<void>;
  return (
    <>
      <form action={withKit} />
      <form action={plain} />
    </>
  );
}
