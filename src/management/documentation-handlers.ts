import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { openApiDocument } from '../api/openapi.ts'
import type { DOCUMENTATION } from '../api/operations/documentation.ts'
import { GatewayError } from '../core/errors.ts'
import { Download } from './call.ts'
import type { Handlers } from './call.ts'

/** Of Swagger UI, what the page needs. */
const FILES: ReadonlyMap<string, string> = new Map([
  ['swagger-ui.css', 'text/css; charset=utf-8'],
  ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  ['favicon-32x32.png', 'image/png'],
])

/** A file of its own: the page allows no script within it. */
const START = `window.ui = SwaggerUIBundle({ url: '/openapi.json', dom_id: '#ui', deepLinking: true, tryItOutEnabled: true })\n`

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta http-equiv="Content-Security-Policy" content="default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'">
    <title>Sluice: API</title>
    <link rel="icon" href="/docs/favicon-32x32.png">
    <link rel="stylesheet" href="/docs/swagger-ui.css">
  </head>
  <body>
    <main id="ui"></main>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`

/** The description of everything that is served, for programs and for people. */
export function documentationHandlers(version: string, vendor: string): Handlers<keyof typeof DOCUMENTATION> {
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  let text: string | null = null
  return {
    openApi: () => {
      text ??= JSON.stringify(openApiDocument(version, vendor))
      return Promise.resolve(new Download('application/json', text))
    },

    documentation: () => Promise.resolve(new Download('text/html; charset=utf-8', PAGE)),

    documentationFile: async ({ params }) => {
      if (params.file === 'start.js') return new Download('text/javascript; charset=utf-8', START)
      const type = FILES.get(params.file)
      if (type === undefined) throw new GatewayError('NOT_FOUND')
      return new Download(type, pieces(await readFile(join(folder, params.file))))
    },
  }
}

async function* pieces(bytes: Buffer): AsyncGenerator<Buffer> {
  await Promise.resolve()
  yield bytes
}
