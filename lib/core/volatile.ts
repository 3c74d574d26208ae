/**
 * Names of fields that change by themselves and tell no intent from another, as those who make them call them: of
 * captchas (reCAPTCHA, hCaptcha, Turnstile, Friendly Captcha, Altcha, Cap, mCaptcha, MTCaptcha, Arkose, GeeTest), and of the
 * tokens against CSRF of libraries and frameworks.
 */
const USUAL =
  /^((g-re|h-|frc-)captcha-response|cf-turnstile-response|frc-captcha-solution|altcha|cap-token|mcaptcha__token|mtcaptcha-verifiedtoken|fc-token|geetest_(challenge|validate|seccode)|_?[cx]srf([-_]?token)?|csrfmiddlewaretoken|authenticity_token|__requestverificationtoken|_token)($|[.[])/i;

/**
 * Tells whether a field changes by itself, so that two submits that differ in it alone are one intent: by a usual name, or by one
 * of `more`. A name that is a path (`tags[]`, `meta.sent`) counts by its first step, too.
 */
export function isVolatile(name: string, more: readonly string[]): boolean {
  return USUAL.test(name) || more.includes(name) || more.includes(name.split(/[.[]/, 1)[0] as string);
}
