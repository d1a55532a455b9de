import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', '.oncehook/', 'test/fixtures/', 'examples/'] },
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { prefer: 'type-imports' }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/no-floating-promises': 'error', // an activity that nobody awaits is a bug
      'no-restricted-syntax': [
        'error',
        { selector: 'ExportDefaultDeclaration', message: 'Named exports only.' },
        { selector: 'TSEnumDeclaration', message: 'Closed sets are literal unions.' },
      ],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }], // numbers print as meant
      '@typescript-eslint/consistent-type-definitions': 'off', // unions need type, records read better as interface
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
      '@typescript-eslint/no-unused-vars': ['error', { varsIgnorePattern: '^_', argsIgnorePattern: '^_' }],
      'no-console': 'error',
    },
  },
  {
    // The sandbox has no Node; the bundler refuses it too, but later and with a longer message.
    files: ['workflows/**/*.ts', 'src/domain/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: ['node:*', 'pg', 'zod', '@temporalio/client', '@temporalio/worker'] },
      ],
      'no-restricted-globals': ['error', 'process', 'Buffer', 'setInterval', 'fetch', 'crypto'],
    },
  },
  {
    files: ['test/**/*.ts', '*.config.ts'],
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off', // a test that meets null should fail loudly
      'no-restricted-syntax': 'off', // tool configurations are default exports
    },
  },
);
