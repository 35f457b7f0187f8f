import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { openApiDocument } from '../../shared/api/openapi.ts'
import type { DOCUMENTATION } from '../../shared/api/operations/documentation.ts'
import { TOOL_ENDPOINTS } from '../../shared/api/tool-endpoints.ts'
import { describedEndpoints } from '../../shared/endpoints/index.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { Download } from './call.ts'
import type { Handlers } from './call.ts'

/** The only script of the page. It creates its stylesheets itself, so the policy allows inline styles. */
const PROGRAM = 'rapidoc-min.js'
/** The browser sends requests to no other origin, whatever the script or the description contains. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** `load-fonts` is off: the script would fetch fonts from another origin. */
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta http-equiv="Content-Security-Policy" content="${POLICY}">
    <title>Sluice: API</title>
    <link rel="icon" href="data:,">
    <script type="module" src="/docs/${PROGRAM}"></script>
  </head>
  <body>
    <rapi-doc spec-url="/openapi.json" load-fonts="false" render-style="focused" schema-style="table"
      show-header="false" show-method-in-nav-bar="as-colored-text" use-path-in-nav-bar="false"
      info-description-headings-in-navbar="true" allow-spec-url-load="false" allow-spec-file-load="false"
      allow-server-selection="false" theme="light" primary-color="#0b6bcb"
      nav-bg-color="#f6f8fa" regular-font="system-ui, sans-serif" mono-font="ui-monospace, monospace"></rapi-doc>
  </body>
</html>
`

/** The OpenAPI document of all endpoints, and a page that shows it. */
export function documentationHandlers(version: string, vendor: string): Handlers<keyof typeof DOCUMENTATION> {
  let text: string | null = null
  return {
    openApi: () => {
      text ??= JSON.stringify(openApiDocument(version, [...describedEndpoints(vendor), ...TOOL_ENDPOINTS]))
      return Promise.resolve(new Download('application/json', text))
    },

    documentation: () => Promise.resolve(new Download('text/html; charset=utf-8', PAGE)),

    documentationFile: async ({ params }) => {
      if (params.file !== PROGRAM) throw new GatewayError('NOT_FOUND')
      return new Download('text/javascript; charset=utf-8', pieces(await readProgram()))
    },
  }
}

/** `npm pack` copies the script beside the code; in a checkout it is a development dependency. */
async function readProgram(): Promise<Buffer> {
  try {
    return await readFile(new URL(`../../docs/${PROGRAM}`, import.meta.url))
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
    return readFile(createRequire(import.meta.url).resolve(`rapidoc/dist/${PROGRAM}`))
  }
}

async function* pieces(bytes: Buffer): AsyncGenerator<Buffer> {
  await Promise.resolve()
  yield bytes
}
