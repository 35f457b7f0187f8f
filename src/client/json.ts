import type { Attempt } from './attempt.ts'
import { textOf } from './body.ts'
import { SluiceError } from './errors.ts'

/** Parses the answer. Does not check its shape against the schema. */
export async function readJson<Answer>(response: Response, attempt: Attempt): Promise<Answer> {
  const text = await textOf(response, attempt)
  try {
    return JSON.parse(text) as Answer
  } catch (cause) {
    throw new SluiceError(`The answer is not JSON: is there a gateway at ${new URL(response.url).origin}?`, { cause })
  }
}
