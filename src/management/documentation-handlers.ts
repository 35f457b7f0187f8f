import { openApiDocument } from '../api/openapi.ts'
import type { DOCUMENTATION } from '../api/operations/documentation.ts'
import { Download } from './call.ts'
import type { Handlers } from './call.ts'

export function documentationHandlers(version: string): Handlers<keyof typeof DOCUMENTATION> {
  let text: string | null = null
  return {
    openApi: () => {
      text ??= JSON.stringify(openApiDocument(version))
      return Promise.resolve(new Download('application/json', text))
    },
  }
}
