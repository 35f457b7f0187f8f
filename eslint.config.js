import { defineConfig } from 'eslint/config'
import reactHooks from 'eslint-plugin-react-hooks'
import tseslint from 'typescript-eslint'

const SQL_CALLS = '/^(query|queryRow|queryOne|execute|exec)$/'

/** What a SQL text may be put together from: constants, what calls of constants give, checked identifiers, conditions. */
const SQL_PARTS = [
  'TemplateElement',
  'Identifier[name=/^[A-Z][A-Z0-9_]*$/]',
  'CallExpression[callee.object.name=/^[A-Z][A-Z0-9_]*$/]',
  'CallExpression[callee.type="Identifier"][arguments.length=1][arguments.0.type="Literal"]',
  'CallExpression[callee.property.name=/^(escapeIdentifier|sql)$/]',
].join(', ')

const SQL_MESSAGE = 'SQL must not be built from values: use $1, $2 and parameters.'

const noBuiltSql = [
  {
    selector: `CallExpression[callee.property.name=${SQL_CALLS}] > TemplateLiteral.arguments:first-child > :not(${SQL_PARTS})`,
    message: SQL_MESSAGE,
  },
  {
    selector: `CallExpression[callee.property.name=${SQL_CALLS}] > BinaryExpression.arguments:first-child[operator="+"]`,
    message: SQL_MESSAGE,
  },
]

const noRawWrite = {
  selector:
    'CallExpression[callee.object.name=/^(res|uws|uwsRes|uwsResponse)$/][callee.property.name=/^(write|cork)$/]',
  message:
    'Several writes in one cork corrupt chunked answers: write through the Responder of src/front/server/responder.ts.',
}

const noServerWrite = {
  selector: 'CallExpression[callee.property.name=/^(write|tryEnd|cork)$/]',
  message: noRawWrite.message,
}

const noDefaultExport = {
  selector: 'ExportDefaultDeclaration',
  message: 'Export by name.',
}

const noAssignedClosure = {
  selector: 'AssignmentExpression[left.type="MemberExpression"][right.type=/^(ArrowFunction|Function)Expression$/]',
  message:
    'V8 puts a function that is assigned to a property where it is written into old space: all it leads to then lives until a full collection. Pass it to a method, or name it first.',
}

const noBareInterval = {
  selector: 'CallExpression[callee.name="setInterval"]',
  message: 'An error in a timer ends the process: use repeat() of src/shared/runtime/repeat.ts.',
}

const TEXT_MESSAGE = 'Texts that people read are in src/console/words, in every language.'

const noTextInComponents = [
  { selector: 'JSXText[value=/[A-Za-z]{2}/]', message: TEXT_MESSAGE },
  {
    selector:
      'JSXAttribute[name.name=/^(label|placeholder|title|description|alt|aria-label|aria-description|text|about)$/] > Literal[value=/[A-Za-z]{2}/]',
    message: TEXT_MESSAGE,
  },
]

const restricted = ['error', ...noBuiltSql, noRawWrite, noDefaultExport, noAssignedClosure, noBareInterval]

export default defineConfig(
  {
    ignores: ['dist/', 'data/', 'coverage/', 'test-results/', '.tmp/', 'test/fixtures/', 'test/unit/tooling/planted/'],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/prefer-nullish-coalescing': ['error', { ignorePrimitives: { string: true, boolean: true } }],
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', caughtErrors: 'none', ignoreRestSiblings: true },
      ],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-unsafe-enum-comparison': 'off',
      '@typescript-eslint/prefer-promise-reject-errors': 'error',
      eqeqeq: ['error', 'always'],
      'no-console': 'error',
      'no-constant-condition': ['error', { checkLoops: false }],
      'no-control-regex': 'error',
      'no-debugger': 'error',
      'no-eval': 'error',
      'no-implied-eval': 'off',
      'no-new-wrappers': 'error',
      'no-param-reassign': ['error', { props: false }],
      'no-restricted-syntax': restricted,
      'no-self-compare': 'error',
      'no-unmodified-loop-condition': 'error',
      'no-var': 'error',
      'object-shorthand': 'error',
      'prefer-const': 'error',
    },
  },
  {
    files: ['src/front/server/**/*.ts'],
    ignores: ['src/front/server/responder.ts'],
    rules: { 'no-restricted-syntax': [...restricted, noServerWrite] },
  },
  {
    files: ['src/front/server/responder.ts'],
    rules: { 'no-restricted-syntax': ['error', ...noBuiltSql, noDefaultExport, noAssignedClosure] },
  },
  {
    files: ['src/shared/runtime/repeat.ts'],
    rules: { 'no-restricted-syntax': ['error', ...noBuiltSql, noRawWrite, noDefaultExport, noAssignedClosure] },
  },
  {
    // Browsers: a timer ends with its component, and an error in it ends nothing.
    files: ['src/console/**/*.ts', 'src/console/**/*.tsx'],
    extends: [reactHooks.configs.flat.recommended],
    rules: {
      'no-restricted-syntax': ['error', noDefaultExport, ...noTextInComponents],
      // Said of TanStack Virtual, which then is left as it is: that is right.
      'react-hooks/incompatible-library': 'off',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
    },
  },
  {
    // Programs print; tests reach into what is unknown.
    files: ['bench/**/*.ts', 'test/**/*.ts', '*.config.ts'],
    rules: {
      'no-console': 'off',
      'no-restricted-imports': [
        'error',
        { name: 'fast-check', message: 'Import test/support/fast-check.ts: it sets the seed of the test run.' },
      ],
      'no-restricted-syntax': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/only-throw-error': 'off',
      '@typescript-eslint/prefer-promise-reject-errors': 'off',
    },
  },
  {
    files: ['test/support/fast-check.ts'],
    rules: { 'no-restricted-imports': 'off' },
  },
  {
    files: ['**/*.js', '**/*.mjs', '**/*.cjs'],
    rules: { eqeqeq: ['error', 'always'], 'no-var': 'error', 'prefer-const': 'error' },
  },
)
