import { operation } from '../operation.ts'

export const DOCUMENTATION = {
  openApi: operation({
    method: 'GET',
    path: '/openapi.json',
    tag: 'Operation',
    summary: 'This description of everything that is served',
    access: 'everyone',
    answer: { status: 200, schema: null, media: 'application/json' },
  }),
  documentation: operation({
    method: 'GET',
    path: '/docs',
    tag: 'Operation',
    summary: 'The same as a page, to read and to try',
    access: 'everyone',
    answer: { status: 200, schema: null, media: 'text/html' },
  }),
  documentationFile: operation({
    method: 'GET',
    path: '/docs/{file}',
    tag: 'Operation',
    summary: 'A part of that page',
    access: 'everyone',
    answer: { status: 200, schema: null, media: 'text/javascript' },
  }),
} as const
