// The view library, under one name.
import { Component, Fragment, h, render } from "./vendor/preact.js";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/hooks.js";
import htm from "./vendor/htm.js";

export const html = htm.bind(h);
export { Component, Fragment, render, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState };
