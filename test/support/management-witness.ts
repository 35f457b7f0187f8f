import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject } from 'vitest'
import type { OperationSpec } from '../../src/shared/api/operation.ts'

interface Response {
  readonly content?: Readonly<Record<string, unknown>>
  /** A reference, in place of the other members. */
  readonly $ref?: string
}

interface Described {
  readonly responses: Readonly<Record<string, Response>>
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: { readonly responses?: Readonly<Record<string, Response>> }
}

const ADDRESS = 'https://sluice.test/openapi.json'

/** Checks answers against the OpenAPI document that a gateway serves. */
class Witness {
  readonly #document: OpenApi
  readonly #ajv: Ajv2020
  readonly #compiled = new Map<string, ValidateFunction>()

  constructor(document: OpenApi) {
    this.#document = document
    // Most keywords of an OpenAPI document are not keywords of JSON Schema.
    this.#ajv = new Ajv2020({ strict: false, formats: { 'date-time': /Z$/ } })
    this.#ajv.addSchema(document, ADDRESS)
  }

  /** Throws when the document does not declare the status, the content type, or a body like this. */
  check(
    name: string,
    { method, path }: OperationSpec,
    status: number,
    contentType: string | null,
    json: unknown,
  ): void {
    const verb = method.toLowerCase()
    const responses = this.#document.paths[path]?.[verb]?.responses ?? {}
    const key = [String(status), `${Math.floor(status / 100)}XX`].find((one) => Object.hasOwn(responses, one))
    if (key === undefined) throw new Error(`${name}: the document does not tell of status ${status}`)
    const shared = responses[key]?.$ref?.split('/').at(-1)
    const content = (shared === undefined ? responses[key] : this.#document.components.responses?.[shared])?.content
    const media = contentType?.split(';')[0] ?? null
    const told = content === undefined ? [null] : Object.keys(content)
    expect(told, `${name} ${status}: the type of the body`).toContain(media)
    if (media !== 'application/json') return
    const validate = this.#validator(
      shared === undefined ? ['paths', path, verb, 'responses', key] : ['components', 'responses', shared],
    )
    expect(
      validate(json),
      `${name} ${status}: ${this.#ajv.errorsText(validate.errors)} in ${JSON.stringify(json)}`,
    ).toBe(true)
  }

  /** @param response path of the response in the document */
  #validator(response: readonly string[]): ValidateFunction {
    const pointer = [...response, 'content', 'application/json', 'schema'].map((part) =>
      encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')),
    )
    const ref = `${ADDRESS}#/${pointer.join('/')}`
    let validate = this.#compiled.get(ref)
    if (validate === undefined) this.#compiled.set(ref, (validate = this.#ajv.compile({ $ref: ref })))
    return validate
  }
}

const witnesses = new Map<string, Promise<Witness>>()
const told = new Set<string>()

/** Checks an answer against the document of its gateway, and records the success or the failure of the operation. */
export async function witness(
  gatewayUrl: string,
  name: string,
  spec: OperationSpec,
  answer: { readonly status: number; readonly contentType: string | null; readonly json: unknown },
): Promise<void> {
  let document = witnesses.get(gatewayUrl)
  if (document === undefined) witnesses.set(gatewayUrl, (document = read(gatewayUrl)))
  const { status, contentType, json } = answer
  ;(await document).check(name, spec, status, contentType, json)
  const note = `${inject('database')} ${name} ${status < 400 ? 'success' : 'failure'}`
  if (told.has(note)) return
  told.add(note)
  appendFileSync(join(inject('operationsSeen'), String(process.pid)), `${note}\n`)
}

async function read(gatewayUrl: string): Promise<Witness> {
  const response = await fetch(`${gatewayUrl}/openapi.json`)
  return new Witness((await response.json()) as OpenApi)
}
