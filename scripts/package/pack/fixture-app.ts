/**
 * The app of a stranger, as create-next-app and `prisma init` leave it, with one model and a form of its own. The form
 * and what it calls are not here: the README shows them, before and after.
 */
export function appFiles({ name, databaseUrl }: { name: string; databaseUrl: string }): Record<string, string> {
  return {
    'package.json': `${JSON.stringify(
      {
        name,
        version: '0.1.0',
        private: true,
        scripts: { dev: 'next dev', build: 'next build', start: 'next start' },
      },
      null,
      2,
    )}\n`,
    '.env': `DATABASE_URL="${databaseUrl}"\n`,
    '.gitignore': '/node_modules\n/.next/\n/app/generated\n.env*\n*.tsbuildinfo\nnext-env.d.ts\n',
    'tsconfig.json': TSCONFIG,
    'next.config.ts': `import type { NextConfig } from "next";

const nextConfig: NextConfig = {
  /* config options here */
};

export default nextConfig;
`,
    'app/globals.css': 'body {\n  font-family: Arial, Helvetica, sans-serif;\n}\n',
    'app/layout.tsx': `import type { Metadata } from "next";
import "./globals.css";

export const metadata: Metadata = { title: "A shop" };

export default function RootLayout({ children }: Readonly<{ children: React.ReactNode }>) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}
`,
    'app/page.tsx': `import Link from "next/link";

export default function Home() {
  return <Link href="/checkout">Checkout</Link>;
}
`,
    // Who the visitor is, as the app has told it before it had the kit.
    'proxy.ts': `import { type NextRequest, NextResponse } from 'next/server';

export function proxy(request: NextRequest) {
  if (request.cookies.has('visitor')) return NextResponse.next();
  const visitor = crypto.randomUUID();
  request.cookies.set('visitor', visitor);
  const response = NextResponse.next({ request });
  response.cookies.set('visitor', visitor, { httpOnly: true, sameSite: 'lax' });
  return response;
}
`,
    'lib/session.ts': `import { cookies } from 'next/headers';

export async function session() {
  const userId = (await cookies()).get('visitor')?.value;
  return userId ? { userId } : null;
}
`,
    'lib/prisma.ts': `import { PrismaPg } from '@prisma/adapter-pg';
import { type Prisma, PrismaClient } from '@/app/generated/prisma/client';

const adapter = new PrismaPg({ connectionString: process.env.DATABASE_URL });

export const prisma = new PrismaClient({ adapter });
export type Tx = Prisma.TransactionClient;
`,
    ...prismaFiles('../app/generated/prisma'),
  };
}

/** A schema in a single file, with its first migration. */
export function prismaFiles(output: string): Record<string, string> {
  return {
    'prisma.config.ts': `import 'dotenv/config';
import { defineConfig, env } from 'prisma/config';

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: env('DATABASE_URL') },
});
`,
    'prisma/schema.prisma': `generator client {
  provider = "prisma-client"
  output   = "${output}"
}

datasource db {
  provider = "postgresql"
}

model Order {
  id        String   @id @default(uuid())
  sku       String
  quantity  Int
  createdAt DateTime @default(now())
}
`,
    'prisma/migrations/migration_lock.toml': 'provider = "postgresql"\n',
    'prisma/migrations/20260101090000_orders/migration.sql': `-- CreateTable
CREATE TABLE "Order" (
    "id" TEXT NOT NULL,
    "sku" TEXT NOT NULL,
    "quantity" INTEGER NOT NULL,
    "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "Order_pkey" PRIMARY KEY ("id")
);
`,
  };
}

/** The dependencies of such an app, `tsx` for the commands of the kit. */
export const APP_PACKAGES = {
  dependencies: ['@prisma/adapter-pg', '@prisma/client', 'next', 'react', 'react-dom', 'zod'],
  devDependencies: [
    ...['@types/node', '@types/react', '@types/react-dom', 'dotenv', 'prisma', 'tsx', 'typescript'],
    ...['@playwright/test', '@types/pg', 'pg'], // for its tests of the form
  ],
};

const TSCONFIG = `{
  "compilerOptions": {
    "target": "ES2017",
    "lib": ["dom", "dom.iterable", "esnext"],
    "allowJs": true,
    "skipLibCheck": true,
    "strict": true,
    "noEmit": true,
    "esModuleInterop": true,
    "module": "esnext",
    "moduleResolution": "bundler",
    "resolveJsonModule": true,
    "isolatedModules": true,
    "jsx": "react-jsx",
    "incremental": true,
    "plugins": [{ "name": "next" }],
    "paths": { "@/*": ["./*"] }
  },
  "include": [
    "next-env.d.ts",
    "**/*.ts",
    "**/*.tsx",
    ".next/types/**/*.ts",
    ".next/dev/types/**/*.ts",
    "**/*.mts"
  ],
  "exclude": ["node_modules"]
}
`;
