/**
 * Takes everything, in place of the validator of the SDK: that one checks results and answers of users against schemas of upstream
 * servers, however long a pattern takes. Whoever asked for them may check them.
 */
export const NO_VALIDATION = {
  getValidator:
    <T>() =>
    (input: unknown) => ({ valid: true as const, data: input as T & {}, errorMessage: undefined }),
}
