(* Sums of non-negative numbers over any set, finite or not: the least upper bound of the sums over finite lists without repetition.
   No order of summation is chosen, so that a bijection changes nothing. An inequality of reals is decidable, and so any case distinction
   may be made while one is proved. *)
From Coq Require Import Reals Lra List Lia.
Import ListNotations.
Open Scope R_scope.

Fixpoint sum {A} (f : A -> R) (l : list A) : R :=
  match l with [] => 0 | a :: l' => f a + sum f l' end.

Definition finite_sum_in {A} (E : A -> Prop) (f : A -> R) (v : R) :=
  exists l, NoDup l /\ (forall a, In a l -> E a) /\ v = sum f l.

(* The sum of f over the set E is s. *)
Definition sum_over {A} (E : A -> Prop) (f : A -> R) (s : R) := is_lub (finite_sum_in E f) s.
Definition everything {A} : A -> Prop := fun _ => True.
Notation sums f s := (sum_over everything f s).
Definition nonneg {A} (f : A -> R) := forall a, 0 <= f a.

Section Lists.
Context {A : Type}.
Implicit Types (f g : A -> R) (l : list A).

Lemma sum_app f l l' : sum f (l ++ l') = sum f l + sum f l'.
Proof. induction l as [|a l IH]; simpl; lra. Qed.

Lemma sum_map {B} (h : B -> A) f (l : list B) : sum f (map h l) = sum (fun b => f (h b)) l.
Proof. induction l as [|b l IH]; simpl; [reflexivity|rewrite IH; reflexivity]. Qed.

Lemma sum_scale c f l : sum (fun a => c * f a) l = c * sum f l.
Proof. induction l as [|a l IH]; simpl; [ring|rewrite IH; ring]. Qed.

Lemma sum_le f g l : (forall a, In a l -> f a <= g a) -> sum f l <= sum g l.
Proof.
  induction l as [|a l IH]; simpl; intros le; [lra|].
  pose proof (le a (or_introl eq_refl)). assert (sum f l <= sum g l) by (apply IH; auto). lra.
Qed.

Lemma sum_eq f g l : (forall a, In a l -> f a = g a) -> sum f l = sum g l.
Proof. intros e. apply Rle_antisym; apply sum_le; intros a i; rewrite (e a i); lra. Qed.

Lemma sum_nonneg f l : nonneg f -> 0 <= sum f l.
Proof. intros p. induction l as [|a l IH]; simpl; [lra|pose proof (p a); lra]. Qed.

Lemma sum_incl f l l' : nonneg f -> NoDup l -> incl l l' -> sum f l <= sum f l'.
Proof.
  intros p. revert l'. induction l as [|a l IH]; simpl; intros l' n i; [apply sum_nonneg; exact p|].
  inversion n as [|? ? no n']; subst.
  destruct (in_split a l' (i a (or_introl eq_refl))) as [l1 [l2 e]]. subst.
  assert (sum f l <= sum f (l1 ++ l2)).
  { apply IH; [exact n'|]. intros b bl. assert (In b (l1 ++ a :: l2)) as q by (apply i; right; exact bl).
    apply in_app_or in q. apply in_or_app. destruct q as [q|[q|q]]; auto. subst. contradiction. }
  rewrite sum_app in *. simpl. lra.
Qed.
End Lists.

(* Case distinctions inside an inequality of reals. *)
Lemma by_cases (P : Prop) (u v : R) : (P -> u <= v) -> (~ P -> u <= v) -> u <= v.
Proof. intros y n. destruct (Rle_dec u v) as [h|h]; [exact h|]. apply n. intros p. apply h, y, p. Qed.

Lemma by_partition {A} (P : A -> Prop) (l : list A) (u v : R) :
  (forall yes no, (forall a, In a yes -> P a) -> (forall a, In a no -> ~ P a) ->
     (forall a, In a l <-> In a yes \/ In a no) -> (NoDup l -> NoDup yes /\ NoDup no) ->
     (forall f, sum f l = sum f yes + sum f no) -> u <= v) -> u <= v.
Proof.
  revert u v. induction l as [|a l IH]; intros u v k.
  - apply (k [] []); simpl; try tauto; intros; try (split; constructor); lra.
  - apply IH. intros yes no y n io nd s. apply (by_cases (P a)); intros pa.
    + apply (k (a :: yes) no).
      * intros b [e|i]; [subst; exact pa|auto].
      * exact n.
      * intros b. simpl. rewrite io. tauto.
      * intros d. inversion d as [|? ? h d']; subst. destruct (nd d') as [d1 d2]. split; [|exact d2]. constructor; [|exact d1].
        intros i. apply h, io. auto.
      * intros f. simpl. rewrite s. lra.
    + apply (k yes (a :: no)).
      * exact y.
      * intros b [e|i]; [subst; exact pa|auto].
      * intros b. simpl. rewrite io. tauto.
      * intros d. inversion d as [|? ? h d']; subst. destruct (nd d') as [d1 d2]. split; [exact d1|]. constructor; [|exact d2].
        intros i. apply h, io. auto.
      * intros f. simpl. rewrite s. lra.
Qed.

Section Sums.
Context {A : Type}.
Implicit Types (E F : A -> Prop) (f g : A -> R).

Lemma sum_over_bound E f s l : sum_over E f s -> NoDup l -> (forall a, In a l -> E a) -> sum f l <= s.
Proof. intros [u _] n i. apply u. exists l. auto. Qed.

Lemma sum_over_least E f s t : sum_over E f s -> (forall l, NoDup l -> (forall a, In a l -> E a) -> sum f l <= t) -> s <= t.
Proof. intros [_ u] h. apply u. intros v [l [n [i e]]]. subst. auto. Qed.

Lemma sum_over_intro E f s :
  (forall l, NoDup l -> (forall a, In a l -> E a) -> sum f l <= s) ->
  (forall t, (forall l, NoDup l -> (forall a, In a l -> E a) -> sum f l <= t) -> s <= t) -> sum_over E f s.
Proof.
  intros u v. split.
  - intros r [l [n [i e]]]. subst. auto.
  - intros t h. apply v. intros l n i. apply h. exists l. auto.
Qed.

Lemma sum_over_unique E f s t : sum_over E f s -> sum_over E f t -> s = t.
Proof. intros [a b] [c d]. apply Rle_antisym; [apply b; exact c|apply d; exact a]. Qed.

Lemma sum_over_nonneg E f s : sum_over E f s -> 0 <= s.
Proof. intros h. apply (sum_over_bound E f s [] h); [constructor|simpl; tauto]. Qed.

Lemma sum_over_one E f s a : sum_over E f s -> E a -> f a <= s.
Proof.
  intros h e. pose proof (sum_over_bound E f s [a] h) as b. simpl in b. rewrite Rplus_0_r in b. apply b.
  - constructor; [simpl; tauto|constructor].
  - intros c [q|[]]. subst. exact e.
Qed.

Lemma sum_over_le E f g s t : sum_over E f s -> sum_over E g t -> (forall a, E a -> f a <= g a) -> s <= t.
Proof.
  intros a b le. apply (sum_over_least E f s t a). intros l n i.
  apply Rle_trans with (sum g l); [apply sum_le; auto|apply (sum_over_bound E g t l b n i)].
Qed.

Lemma sum_over_subset E F f s t : sum_over E f s -> sum_over F f t -> (forall a, E a -> F a) -> s <= t.
Proof. intros a b i. apply (sum_over_least E f s t a). intros l n h. apply (sum_over_bound F f t l b n). auto. Qed.

Lemma sum_over_scale E f s c : 0 <= c -> sum_over E f s -> sum_over E (fun a => c * f a) (c * s).
Proof.
  intros c0 h. apply sum_over_intro.
  - intros l n i. rewrite sum_scale. apply Rmult_le_compat_l; [exact c0|apply (sum_over_bound E f s l h n i)].
  - intros t b. destruct c0 as [c0|c0].
    + apply Rmult_le_reg_l with (/ c); [apply Rinv_0_lt_compat; exact c0|].
      rewrite <- Rmult_assoc, Rinv_l, Rmult_1_l by lra. apply (sum_over_least E f s _ h). intros l n i.
      apply Rmult_le_reg_l with c; [exact c0|]. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l, <- sum_scale by lra. auto.
    + subst. rewrite Rmult_0_l. apply (b []); [constructor|simpl; tauto].
Qed.

Lemma sum_over_ext E F f g s : (forall a, E a <-> F a) -> (forall a, E a -> f a = g a) -> sum_over E f s -> sum_over F g s.
Proof.
  intros ef e h. apply sum_over_intro.
  - intros l n i. rewrite <- (sum_eq f g l) by (intros; apply e, ef; auto). apply (sum_over_bound E f s l h n). intros a q. apply ef; auto.
  - intros t b. apply (sum_over_least E f s t h). intros l n i. rewrite (sum_eq f g l) by auto. apply b; [exact n|]. intros a q. apply ef; auto.
Qed.

(* Sums exist where the finite ones are bounded. *)
Lemma sum_over_exists E f M : (forall l, NoDup l -> (forall a, In a l -> E a) -> sum f l <= M) -> {s | sum_over E f s}.
Proof.
  intros b. apply completeness.
  - exists M. intros v [l [n [i e]]]. subst. auto.
  - exists 0. exists []. split; [constructor|]. simpl. tauto.
Qed.

(* What is 0 outside a set has its sum over everything. *)
Lemma sum_over_support E f s : nonneg f -> (forall a, ~ E a -> f a = 0) -> sum_over E f s -> sums f s.
Proof.
  intros p z h. apply sum_over_intro.
  - intros l n _. apply (by_partition E l). intros yes no y o io nd e. rewrite e.
    assert (sum f no = 0) as q. { rewrite (sum_eq f (fun _ => 0 * 0)) by (intros; rewrite z; [lra|auto]). rewrite sum_scale. ring. }
    rewrite q, Rplus_0_r. apply (sum_over_bound E f s yes h); [apply nd; exact n|exact y].
  - intros t b. apply (sum_over_least E f s t h). intros l n _. apply b; [exact n|unfold everything; auto].
Qed.

(* A finite set that is listed. *)
Lemma sums_listed f all : nonneg f -> NoDup all -> (forall a, In a all) -> sums f (sum f all).
Proof.
  intros p n i. apply sum_over_intro.
  - intros l d _. apply sum_incl; [exact p|exact d|]. intros a _. apply i.
  - intros t b. apply b; [exact n|unfold everything; auto].
Qed.

Lemma sum_over_single f a : nonneg f -> sum_over (fun b => b = a) f (f a).
Proof.
  intros p. apply sum_over_intro.
  - intros l n i. replace (f a) with (sum f [a]) by (simpl; ring). apply sum_incl; [exact p|exact n|]. intros b h. left. symmetry. auto.
  - intros t b. replace (f a) with (sum f [a]) by (simpl; ring). apply b; [constructor; [simpl; tauto|constructor]|].
    intros c [e|[]]. auto.
Qed.
End Sums.

(* A bijection between two sets changes no sum. *)
Lemma sum_over_bijection {A B} (h : A -> B) (E : A -> Prop) (F : B -> Prop) (f : A -> R) (g : B -> R) s :
  (forall a, E a -> F (h a)) -> (forall a b, E a -> E b -> h a = h b -> a = b) -> (forall b, F b -> exists a, E a /\ h a = b) ->
  (forall a, E a -> f a = g (h a)) -> sum_over E f s -> sum_over F g s.
Proof.
  intros into inj onto e H.
  assert (back : forall l, (forall b, In b l -> F b) -> exists l', (forall a, In a l' -> E a) /\ map h l' = l).
  { induction l as [|b l IH]; intros i; [exists []; simpl; tauto|].
    destruct IH as [l' [i' e']]; [intros c q; apply i; right; exact q|]. destruct (onto b (i b (or_introl eq_refl))) as [a [ea ha]].
    exists (a :: l'). simpl. split; [intros c [q|q]; [subst; exact ea|auto]|rewrite ha, e'; reflexivity]. }
  assert (nd : forall l, (forall a, In a l -> E a) -> NoDup l -> NoDup (map h l)).
  { induction l as [|a l IH]; simpl; intros i n; [constructor|]. inversion n as [|? ? no n']; subst.
    constructor; [|apply IH; auto]. intros q. apply in_map_iff in q. destruct q as [c [eq q]]. apply no.
    rewrite <- (inj c a); auto. }
  apply sum_over_intro.
  - intros l n i. destruct (back l i) as [l' [i' el]]. rewrite <- el, sum_map, <- (sum_eq f) by auto.
    apply (sum_over_bound E f s l' H); [|exact i']. apply (NoDup_map_inv h). rewrite el. exact n.
  - intros t b. apply (sum_over_least E f s t H). intros l n i. rewrite (sum_eq f (fun a => g (h a))) by auto.
    rewrite <- (sum_map h g l). apply b; [apply nd; auto|].
    intros c q. apply in_map_iff in q. destruct q as [a [eq q]]. subst. auto.
Qed.

(* Sums may be taken part by part: the parts are the sets on which a key is constant. *)
Section Parts.
Context {A B : Type}.
Variables (f : A -> R) (key : A -> B) (part : B -> R).
Hypothesis parts : forall b, sum_over (fun a => key a = b) f (part b).

Lemma below_parts (F : B -> Prop) s l : sum_over F part s -> NoDup l -> (forall a, In a l -> F (key a)) -> sum f l <= s.
Proof.
  intros h n inF.
  assert (G : forall m l keys, (length l <= m)%nat -> NoDup l -> (forall a, In a l -> F (key a)) -> NoDup keys ->
              (forall b, In b keys -> F b) -> (forall a, In a l -> ~ In (key a) keys) -> sum f l + sum part keys <= s).
  { clear l n inF. induction m as [|m IH]; intros l keys len n inF nk kF ap.
    - destruct l; [|simpl in len; lia]. simpl. rewrite Rplus_0_l. apply (sum_over_bound _ _ _ _ h nk kF).
    - destruct l as [|a l]; [simpl; rewrite Rplus_0_l; apply (sum_over_bound _ _ _ _ h nk kF)|].
      apply (by_partition (fun c => key c = key a) (a :: l)). intros yes no y o io nd e. destruct (nd n) as [ny nn].
      rewrite e. pose proof (sum_over_bound _ _ _ yes (parts (key a)) ny y) as py.
      assert (length no <= m)%nat as ln.
      { assert (incl no l) as i.
        { intros c q. destruct (proj2 (io c) (or_intror q)) as [r|r]; [subst; exfalso; apply (o c q); reflexivity|exact r]. }
        pose proof (NoDup_incl_length nn i). simpl in len. lia. }
      assert (sum f no + sum part (key a :: keys) <= s) as q.
      { apply IH; [exact ln|exact nn| | | |].
        - intros c q. apply inF, io. auto.
        - constructor; [apply ap; left; reflexivity|exact nk].
        - intros b [q|q]; [subst; apply inF; left; reflexivity|auto].
        - intros c q [r|r]; [apply (o c q); symmetry; exact r|]. apply (ap c (proj2 (io c) (or_intror q)) r). }
      simpl in q. lra. }
  pose proof (G (length l) l [] (le_n _) n inF (NoDup_nil _)) as g. simpl in g. rewrite Rplus_0_r in g. apply g; tauto.
Qed.

Lemma parts_below t keys : NoDup keys -> (forall l, NoDup l -> (forall a, In a l -> In (key a) keys) -> sum f l <= t) -> sum part keys <= t.
Proof.
  revert t. induction keys as [|b keys IH]; intros t n h; simpl; [apply (h []); [constructor|simpl; tauto]|].
  inversion n as [|? ? no n']; subst.
  assert (sum part keys <= t - part b); [|lra]. apply IH; [exact n'|]. intros l nl il.
  assert (part b <= t - sum f l); [|lra]. apply (sum_over_least _ _ _ _ (parts b)). intros l' nl' il'.
  assert (sum f (l' ++ l) <= t); [|rewrite sum_app in *; lra]. apply h.
  - clear h. induction l' as [|a l' IHl]; simpl; [exact nl|]. inversion nl' as [|? ? no' nl'']; subst. constructor.
    + intros q. apply in_app_or in q. destruct q as [q|q]; [contradiction|]. apply no. rewrite <- (il' a (or_introl eq_refl)). auto.
    + apply IHl; [exact nl''|]. intros c q. apply il'. right. exact q.
  - intros a q. apply in_app_or in q. destruct q as [q|q]; [left; symmetry; auto|right; auto].
Qed.

Lemma sum_of_parts (F : B -> Prop) s : sum_over F part s <-> sum_over (fun a => F (key a)) f s.
Proof.
  split; intros h; apply sum_over_intro.
  - intros l n i. apply (below_parts F); auto.
  - intros t b. apply (sum_over_least _ _ _ _ h). intros keys n i. apply parts_below; [exact n|]. intros l nl il. apply b; auto.
  - intros keys n i. apply parts_below; [exact n|]. intros l nl il. apply (sum_over_bound _ _ _ _ h nl). auto.
  - intros t b. apply (sum_over_least _ _ _ _ h). intros l n i.
    destruct (sum_over_exists F part t) as [u hu]; [exact b|].
    apply Rle_trans with u; [apply (below_parts F u l hu n i)|]. apply (sum_over_least _ _ _ _ hu). exact b.
Qed.

Lemma sums_of_parts s : sums part s <-> sums f s.
Proof. exact (sum_of_parts everything s). Qed.
End Parts.

(* Sums over pairs. *)
Lemma sums_pairs {A B} (f : A -> B -> R) (g : A -> R) s :
  (forall a, sums (f a) (g a)) -> sums g s -> sums (fun p : A * B => f (fst p) (snd p)) s.
Proof.
  intros h s'. apply (sums_of_parts _ fst g); [|exact s'].
  intros a. apply (sum_over_bijection (fun b => (a, b)) everything _ (f a)); [reflexivity| | |reflexivity|apply h].
  - intros b c _ _ e. congruence.
  - intros [a' b'] e. simpl in e. subst. exists b'. split; [exact I|reflexivity].
Qed.

Lemma sums_product {A B} (f : A -> R) (g : B -> R) s t :
  nonneg f -> sums f s -> sums g t -> sums (fun p : A * B => f (fst p) * g (snd p)) (t * s).
Proof.
  intros pf hs ht. apply (sums_pairs (fun a b => f a * g b) (fun a => t * f a)).
  - intros a. rewrite Rmult_comm. apply (sum_over_scale _ g t (f a)); auto.
  - apply sum_over_scale; [apply (sum_over_nonneg _ _ _ ht)|exact hs].
Qed.
