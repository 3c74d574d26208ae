/**
 * `oncekit/stripe`: foreign calls to Stripe, with what its documentation says of keys and errors. Types are by shape: it imports
 * nothing of the package `stripe`.
 *
 * @module
 */

export {
  judgeStripeError,
  type StripeCall,
  StripePendingError,
  type StripeReadOptions,
  type StripeSendOptions,
  stripeCall,
} from './call.ts';
